// The table of all answers. Only visible rows exist, so a hundred thousand rows are as fast as thirty; the data of
// a row are parsed when it becomes visible.

const HEIGHT_MAX = 8e6; // browsers cannot scroll much further
const PRINTED_MAX = 400;

class Answers {
  constructor(overview, columns) {
    this.overview = overview;
    this.columns = columns;
    this.total = columns.ids.length;
    this.blocks = new Map();
    this.lowered = new Array(this.total);
    this.view = { q: "", status: "", sort: "" };
    this.found = null; // the answers that hold the search text, or null without one
    this.order = [];
    this.active = 0;
    this.searchCount = 0;
    this.rows = new Map();
    this.build();
  }

  /// An answer's fields and evidence.
  detail(answer) {
    return this.read("block", answer);
  }

  /// Its calls, in blocks of their own, so that a search need not parse them.
  calls(answer) {
    return this.read("calls", answer);
  }

  read(kind, answer) {
    const { starts } = this.columns;
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= answer) low = middle;
      else high = middle - 1;
    }
    const name = `${kind}-${low}`;
    if (!this.blocks.has(name)) this.blocks.set(name, readBlock(name));
    return this.blocks.get(name)[answer - starts[low]];
  }

  build() {
    this.table = byId("table");
    const verifiers = this.overview.verifiers;
    this.titles = this.titlesOf(verifiers);
    this.setWidths(verifiers);
    this.head = h("div", { class: "head", role: "row" }, this.titles.map(([name, title], index) => {
      const button = h("button", { type: "button" }, untrusted(title));
      button.addEventListener("click", () => this.sortBy(name));
      return h("div", { role: "columnheader", class: index > 1 && !/^v\d/.test(name) ? "num" : "", "data-column": name }, button);
    }));
    this.body = h("div", { class: "body", role: "rowgroup" });
    replace(this.table, this.head, this.body);
    fill(this.table, { role: "grid", "aria-label": `All ${this.noun}s`, "aria-colcount": this.titles.length }, []);
    this.buildFilters();
    this.table.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()), { passive: true });
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.body.addEventListener("keydown", (event) => this.pressed(event));
    new ResizeObserver(() => this.draw(true)).observe(this.table);
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => { this.isPrinting = false; this.draw(true); });
    let timer = 0;
    byId("search").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.show({ q: byId("search").value }), 120);
    });
  }

  /// The columns: their names in the address, and their titles.
  titlesOf(verifiers) {
    return [["status", "Status"], ["id", "Answer"], ...verifiers.map((verifier, index) => [`v${index}`, verifier.name]), ["calls", "Calls"], ["spent", "Spent"]];
  }

  /// The noun for a row.
  get noun() {
    return "answer";
  }

  /// The possible statuses.
  get statuses() {
    return wordsOf(this.overview).parts;
  }

  /// Columns in rem. With many verifiers each takes less room, so that five of them fit a small screen;
  /// more than fit are scrolled to.
  setWidths(verifiers) {
    const isMany = verifiers.length > 3;
    const room = isMany ? { status: 6, answer: 10, exact: 4.75, noisy: 6.5, calls: 2.75, spent: 4.25, gap: 0.75 }
      : { status: 7, answer: 13, exact: 5.5, noisy: 8.25, calls: 3, spent: 5, gap: 1 };
    const pictures = verifiers.map((verifier) => (verifier.exact ? room.exact : room.noisy));
    const widths = [room.status, room.answer, ...pictures, room.calls, room.spent];
    const columns = widths.map((width, index) => (index === 1 ? `minmax(${width}rem, 1fr)` : `${width}rem`));
    const padding = 2.2;
    const wide = widths.reduce((sum, width) => sum + width, padding + room.gap * (widths.length - 1));
    this.table.classList.toggle("many", isMany);
    this.table.style.setProperty("--columns", columns.join(" "));
    this.table.style.setProperty("--gap", `${room.gap}rem`);
    if (isMany) this.table.style.setProperty("--wide", `${wide}rem`);
  }

  buildFilters() {
    const counts = { "": this.total };
    for (const status of this.statuses) counts[status] = 0;
    for (const letter of this.columns.status) counts[STATUSES[letter]] += 1;
    this.filters = Object.entries(counts).map(([status, number]) => {
      const button = h("button", { type: "button", "data-status": status }, status === "" ? "All" : status[0].toUpperCase() + status.slice(1), h("span", null, count(number)));
      button.addEventListener("click", () => this.show({ status }));
      return button;
    });
    replace(byId("filters"), ...this.filters);
  }

  /// Changes what is shown, and the address with it, so that it can be shared.
  async show(change) {
    Object.assign(this.view, change);
    rememberView(this.view);
    const { q, status, sort } = this.view;
    if (byId("search").value !== q) byId("search").value = q;
    for (const button of this.filters) button.setAttribute("aria-pressed", button.dataset.status === status);
    for (const cell of this.head.children) {
      const isSorted = sort.replace("-", "") === cell.dataset.column;
      cell.setAttribute("aria-sort", isSorted ? (sort.startsWith("-") ? "descending" : "ascending") : "none");
    }
    if (change.q !== undefined && !(await this.find(q))) return;
    this.arrange();
  }

  /// Searches for a text, a few milliseconds at a time; false if another search has started meanwhile.
  async find(q) {
    const mine = (this.searchCount += 1);
    const wanted = q.trim().toLowerCase();
    if (wanted === "") {
      this.found = null;
      return true;
    }
    const found = new Uint8Array(this.total);
    let pause = performance.now() + 20;
    for (let answer = 0; answer < this.total; answer += 1) {
      this.lowered[answer] ??= this.texts(answer).join("\n").toLowerCase();
      if (this.lowered[answer].includes(wanted)) found[answer] = 1;
      if (performance.now() > pause) {
        byId("count").textContent = `Searching: ${Math.floor((100 * answer) / this.total)} %`;
        await new Promise((resolve) => setTimeout(resolve, 0));
        if (mine !== this.searchCount) return false;
        pause = performance.now() + 20;
      }
    }
    this.found = found;
    return true;
  }

  /// The texts that a search reads.
  texts(answer) {
    return [this.columns.ids[answer], ...this.detail(answer).f.map((field) => field[1])];
  }

  arrange() {
    this.reorder();
    this.active = 0;
    this.table.scrollTop = 0;
    this.draw(true);
  }

  reorder() {
    const { status } = this.columns;
    const letter = this.view.status ? this.view.status[0] : "";
    const order = [];
    for (let answer = 0; answer < this.total; answer += 1) {
      if ((letter === "" || status[answer] === letter) && (this.found === null || this.found[answer])) order.push(answer);
    }
    order.sort(this.comparison());
    this.order = order;
    this.table.setAttribute("aria-rowcount", order.length + 1);
    byId("count").textContent = this.countWords(order.length);
  }

  noneWords() {
    return `No ${this.noun} is like that.`;
  }

  countWords(shown) {
    return shown === this.total ? plural(shown, this.noun) : `${count(shown)} of ${plural(this.total, this.noun)}`;
  }

  /// A column of numbers; null for other columns.
  numbers(column) {
    const { calls, spent, means } = this.columns;
    return column === "calls" ? calls : column === "spent" ? spent : column.startsWith("v") ? means[Number(column.slice(1))] : null;
  }

  /// Certified answers first, in the order of their certificates, unless the table is sorted otherwise.
  comparison() {
    const { ids, status, rank } = this.columns;
    const column = this.view.sort.replace("-", "");
    const sign = this.view.sort.startsWith("-") ? -1 : 1;
    const numbers = this.numbers(column);
    if (numbers) {
      return (a, b) => {
        if (numbers[a] === null || numbers[b] === null) return (numbers[a] === null) - (numbers[b] === null) || a - b;
        return sign * (numbers[a] - numbers[b]) || a - b;
      };
    }
    if (column === "id") {
      const collator = new Intl.Collator("en", { numeric: true });
      return (a, b) => sign * collator.compare(ids[a], ids[b]) || a - b;
    }
    const place = { c: 0, u: 1, r: 2, a: 0, o: 1 };
    return (a, b) => sign * (place[status[a]] - place[status[b]] || rank[a] - rank[b]) || a - b;
  }

  sortBy(column) {
    const isNumber = column !== "id" && column !== "status";
    const steps = isNumber ? [`-${column}`, column, ""] : [column, `-${column}`, ""];
    this.show({ sort: steps[(steps.indexOf(this.view.sort) + 1) % 3] });
  }

  /// Puts the visible rows into the table; `anew` replaces the old ones.
  draw(anew = false) {
    if (this.isPrinting) return;
    const height = parseFloat(getComputedStyle(this.table).getPropertyValue("--row"));
    const all = this.order.length * height;
    const shownHeight = Math.min(all, HEIGHT_MAX);
    this.body.style.height = this.order.length ? `${shownHeight}px` : "auto";
    const sight = this.table.clientHeight;
    const { scrollTop } = this.table;
    // If the table is higher than browsers can scroll, a pixel means more than one row.
    const stretch = all > shownHeight ? (all - sight) / (shownHeight - sight) : 1;
    const offset = scrollTop * stretch;
    const first = Math.max(0, Math.floor(offset / height) - 4);
    const last = Math.min(this.order.length, Math.ceil((offset + sight) / height) + 4);
    this.geometry = { height, sight, stretch };
    const focused = this.rows.get(this.active)?.contains(document.activeElement) ? this.active : -1;
    for (const [place, row] of this.rows) {
      if (anew || ((place < first || place >= last) && place !== focused)) {
        row.remove();
        this.rows.delete(place);
      }
    }
    if (this.order.length === 0) {
      replace(this.body, h("div", { class: "none" }, this.noneWords()));
      return;
    }
    if (this.body.firstChild?.className === "none") replace(this.body);
    for (let place = first; place < last; place += 1) {
      if (!this.rows.has(place)) {
        this.rows.set(place, this.row(place));
        this.body.append(this.rows.get(place));
      }
      this.rows.get(place).style.top = `${place * height - offset + scrollTop}px`;
    }
    const reachable = this.rows.has(this.active) ? this.active : Math.min(first + 4, last - 1);
    for (const [place, row] of this.rows) row.tabIndex = place === reachable ? 0 : -1;
    if (anew && focused >= 0) this.rows.get(focused)?.focus({ preventScroll: true });
  }

  row(place) {
    const answer = this.order[place];
    const { ids, calls, spent } = this.columns;
    const detail = this.detail(answer);
    const [question, said] = asked(detail.f);
    const cell = (attributes, ...children) => h("div", { role: "gridcell", ...attributes }, ...children);
    return h("div", { class: "row", role: "row", "data-place": place, "aria-rowindex": place + 2 },
      cell(null, this.standing(answer)),
      cell({ class: "who" }, h("div", { class: "ask" }, untrusted(preview(ids[answer], 60), "bdi", { class: "id" }), question ? untrusted(preview(question, 220)) : null),
        h("div", { class: "say" }, said ? untrusted(preview(said, 220)) : null)),
      h("div", { class: "pics", role: "none" }, detail.p.map((pair, index) => cell(null, this.picture(pair, this.overview.verifiers[index])))),
      cell({ class: "num calls-of" }, count(calls[answer])),
      cell({ class: "num" }, money(spent[answer], this.overview.money.unit)));
  }

  /// The status of an answer.
  standing(answer) {
    return statusMark(STATUSES[this.columns.status[answer]]);
  }

  picture(pair, verifier) {
    const [calls, mean] = pair;
    if (calls === 0) return h("div", { class: "pic" }, "–");
    if (verifier.exact) return h("div", { class: "pic" }, outcome(pair[4]));
    return h("div", { class: "pic" }, pair[6] ? spark(pair, verifier.threshold) : null,
      h("div", { class: "few" }, h("b", null, score(mean)), plural(calls, "call")));
  }

  clicked(event) {
    const row = event.target.closest(".row");
    if (row && String(getSelection()) === "") this.open(Number(row.dataset.place));
  }

  pressed(event) {
    const page = Math.max(1, Math.floor(this.geometry.sight / this.geometry.height) - 1);
    const last = this.order.length - 1;
    const place = Number(event.target.closest(".row")?.dataset.place);
    const goal = { ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: last }[event.key];
    if (event.key === "Enter" || event.key === " ") this.open(place);
    else if (goal !== undefined) this.focus(Math.max(0, Math.min(last, goal)));
    else return;
    event.preventDefault();
  }

  /// Scrolls to a row and focuses it.
  focus(place) {
    const { height, sight, stretch } = this.geometry;
    const top = this.table.scrollTop * stretch;
    const head = this.head.offsetHeight;
    if (place * height < top) this.table.scrollTop = (place * height) / stretch;
    else if ((place + 1) * height + head > top + sight) this.table.scrollTop = ((place + 1) * height + head - sight) / stretch;
    this.active = place;
    this.draw();
    this.rows.get(place)?.focus({ preventScroll: true });
  }

  open(place) {
    if (place < 0 || place >= this.order.length) return;
    this.active = place;
    this.openPage(place);
  }

  openPage(place) {
    showAnswer(this, place);
  }

  openId(id) {
    const answer = this.columns.ids.indexOf(id);
    if (answer < 0) return;
    if (!this.order.includes(answer)) this.order = [answer, ...this.order];
    this.open(this.order.indexOf(answer));
  }

  /// On paper there is no scrolling.
  print() {
    this.isPrinting = true;
    this.rows.clear();
    const rows = this.order.slice(0, PRINTED_MAX).map((_, place) => this.row(place));
    const more = this.order.length - rows.length;
    replace(this.body, ...rows, more > 0 ? h("div", { class: "none" }, `and ${plural(more, this.noun)} more, not printed`) : null);
    this.body.style.height = "auto";
  }
}
