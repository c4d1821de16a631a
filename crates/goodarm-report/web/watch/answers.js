// The table of certified answers: the report's table, with rows added during the run.

class LiveAnswers extends Answers {
  constructor(state) {
    const { verifiers, money: account, questions } = state;
    super({ verifiers, money: account, notes: [], questions }, { ids: [], arms: [], status: "", rank: [], calls: [], spent: [], means: verifiers.map(() => []), starts: [] });
    this.certified = 0;
    this.details = [];
    this.known = new Map(); // what was read of answers that were opened
  }

  detail(answer) {
    return this.known.get(answer)?.detail ?? this.details[answer];
  }

  calls(answer) {
    return this.known.get(answer)?.calls ?? [];
  }

  /// Of answers, whether or not there are questions.
  get statuses() {
    return ANSWER_WORDS.parts;
  }

  /// The rank of the last certificate in the table.
  get rankKnown() {
    return this.columns.rank[this.total - 1] ?? 0;
  }

  async append(state) {
    const { columns } = this;
    const before = this.total;
    for (const line of state.certificates) {
      if (line.rank <= this.rankKnown) continue;
      columns.ids.push(line.id);
      columns.arms.push(line.arm);
      columns.status += "c";
      columns.rank.push(line.rank);
      columns.calls.push(line.calls);
      columns.spent.push(line.spent);
      columns.means.forEach((means, index) => means.push(line.detail.p[index][1]));
      this.details.push(line.detail);
      this.total += 1;
    }
    const isNew = this.certified !== state.certified;
    this.certified = state.certified;
    if (this.total === before && !isNew) return;
    if (this.view.q && !(await this.find(this.view.q))) return;
    this.keepPlace(() => this.reorder());
  }

  /// Adds new rows at the top; the visible rows and the keyboard focus stay.
  keepPlace(change) {
    const [answer, length] = [this.order[this.active], this.order.length];
    const isFocused = this.rows.get(this.active)?.contains(document.activeElement);
    change();
    this.active = Math.max(0, this.order.indexOf(answer));
    const height = this.geometry?.height ?? 0;
    if (this.table.scrollTop > height && this.view.sort === "") this.table.scrollTop += height * (this.order.length - length);
    this.draw(true);
    if (isFocused) this.rows.get(this.active)?.focus({ preventScroll: true });
  }

  /// The newest first, unless the table is sorted otherwise.
  comparison() {
    return this.view.sort === "" ? (a, b) => b - a : super.comparison();
  }

  buildFilters() {
    this.filters = []; // everything here is certified
  }

  standing(answer) {
    return h("span", { class: "status certified" }, mark("certified"), h("span", null, `no. ${count(this.columns.rank[answer])}`));
  }

  noneWords() {
    return this.total === 0 ? "No answer is certified yet." : super.noneWords();
  }

  countWords(shown) {
    if (this.total === 0) return "";
    const all = shown === this.total ? plural(shown, "certified answer") : `${count(shown)} of ${plural(this.total, "certified answer")}`;
    const missing = this.certified - this.total;
    return missing > 0 ? `${all}; ${count(missing)} earlier ones are in the report, which can be made at any time` : all;
  }

  async open(place) {
    if (place < 0 || place >= this.order.length) return;
    this.active = place;
    const answer = this.order[place];
    if (!this.known.has(answer)) {
      const read = await ask(`answer/${this.columns.arms[answer]}`);
      if (read) {
        this.known.set(answer, read);
        this.columns.calls[answer] = Math.max(read.call_count, this.columns.calls[answer]);
      }
      if (this.order[this.active] !== answer) return; // another one was opened meanwhile
    }
    showAnswer(this, this.active);
  }
}
