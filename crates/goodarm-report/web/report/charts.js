// Charts, drawn at the available width, in the colours of the page.

/// Round numbers from 0 to about `top`, and the step between them.
function ticks(top, wanted) {
  const raw = top / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw);
  const list = [];
  for (let index = 0; index * step <= top * 1.0001; index += 1) list.push(index * step);
  return list;
}

function shortNumber(number) {
  if (number >= 1e6) return `${digits(number / 1e6, 3)}M`;
  if (number >= 1e4) return `${digits(number / 1e3, 3)}k`;
  return digits(number, 3);
}

/// Draws once the width is known, and again when it changes.
function drawn(holder, draw) {
  let width = 0;
  const paint = () => {
    const now = Math.round(holder.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    draw(width);
  };
  new ResizeObserver(paint).observe(holder);
  paint();
}

/// How many answers were certified at which spend.
function coverageChart(figure, overview) {
  const { unit } = overview.money;
  const [spent, budget] = [Number(overview.money.spent), Number(overview.money.budget)];
  const uniform = overview.uniform && overview.uniform.cost <= 5 * Math.max(spent, 1e-12) ? overview.uniform : null;
  const isBudgetShown = budget <= 3 * Math.max(spent, uniform ? uniform.cost : 0);
  const right = Math.max(spent * 1.02, isBudgetShown ? budget : 0, uniform ? uniform.cost * 1.02 : 0) || budget || 1;
  const many = overview.certified > 0.4 * wholeOf(overview);
  const top = many ? wholeOf(overview) : Math.max(1, overview.certified * 1.3);
  const holder = h("div");
  replace(figure, holder, coverageCaption(overview, isBudgetShown, uniform));
  drawn(holder, (width) => {
    const height = width < 560 ? 260 : 330;
    const area = { left: 44, right: width - 14, top: 30, bottom: height - 34 };
    const x = (value) => area.left + (value / right) * (area.right - area.left);
    const y = (value) => area.bottom - (value / top) * (area.bottom - area.top);
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label":
      `${overview.certified}${achieved(overview)} after ${moneyWords(spent, unit)}` });
    coverageAxes(svg, { area, x, y, right, top, unit, height, noun: wordsOf(overview).noun });
    if (isBudgetShown) coverageBudget(svg, { area, x: x(budget), budget, unit });
    const points = coveragePoints(overview, spent);
    const path = points.map(([px, py], index) =>
      (index === 0 ? `M${x(px)},${y(py)}` : `H${x(px).toFixed(1)}V${y(py).toFixed(1)}`)).join("");
    svg.append(s("path", { class: "area", d: `${path}V${area.bottom}H${x(0)}Z` }), s("path", { class: "line", d: path }));
    const end = { x: x(spent), y: y(overview.certified) };
    if (uniform) coverageUniform(svg, { area, end, x: x(uniform.cost), uniform, unit, width, verb: overview.questions ? "treating" : "checking" });
    svg.append(s("circle", { class: "dot", cx: end.x, cy: end.y, r: 4.5 }));
    const isNearRight = end.x > area.right - 130;
    const isLeftward = isNearRight || uniform;
    svg.append(s("text", { class: "accent", x: end.x + (isLeftward ? -10 : 10), y: Math.max(14, end.y - 10),
      "text-anchor": isLeftward && end.x > area.left + 110 ? "end" : "start" }, `${count(overview.certified)} ${wordsOf(overview).done}`));
    replace(holder, svg);
  });
}

function coveragePoints(overview, spent) {
  const points = [[0, 0], ...overview.coverage.map((step) => [step.spent, step.certified])];
  points.push([spent, overview.certified]);
  return points;
}

function coverageAxes(svg, { area, x, y, right, top, unit, height, noun }) {
  for (const value of ticks(top, 4).filter((tick) => Number.isInteger(tick))) {
    svg.append(s("line", { class: value === 0 ? "axis" : "grid", x1: area.left, x2: area.right, y1: y(value), y2: y(value) }),
      s("text", { x: area.left - 8, y: y(value) + 4, "text-anchor": "end" }, shortNumber(value)));
  }
  for (const value of ticks(right, (area.right - area.left) / 110)) {
    const isLast = x(value) > area.right - 30;
    const label = unit === "dollars" ? `$${shortNumber(value)}` : shortNumber(value);
    svg.append(s("text", { x: isLast ? area.right : x(value), y: area.bottom + 19, "text-anchor": isLast ? "end" : "middle" }, label));
  }
  svg.append(s("text", { x: area.left - 30, y: 12 }, `${noun}s`),
    s("text", { x: area.right, y: height - 1, "text-anchor": "end" }, `spent${unit === "dollars" ? "" : `, ${unit}`}`));
}

function coverageBudget(svg, { area, x, budget, unit }) {
  const words = area.right < 500 ? "budget" : `budget ${moneyWords(budget, unit)}`;
  const isRight = x + 8 * words.length > area.right;
  svg.append(s("line", { class: "dash", x1: x, x2: x, y1: area.top - 12, y2: area.bottom }),
    s("text", { x: x + (isRight ? -7 : 7), y: area.top - 6, "text-anchor": isRight ? "end" : "start" }, words));
}

/// The point at which checking all answers alike would have reached the same count.
function coverageUniform(svg, { area, end, x, uniform, unit, width, verb }) {
  if (x <= end.x + 8) return;
  svg.append(s("line", { class: "dash", x1: end.x, x2: x, y1: end.y, y2: end.y }), s("circle", { class: "ring", cx: x, cy: end.y, r: 4.5 }));
  const words = width < 560 ? ["all alike, estimate:", `≈ ${money(uniform.cost, unit)}`]
    : [`${verb} all alike would get here`, `at about ${moneyWords(uniform.cost, unit)} (estimate)`];
  words.forEach((line, index) => svg.append(s("text", { class: index === 0 ? "" : "strong",
    x: Math.min(x + 5, area.right), y: end.y + 22 + 17 * index, "text-anchor": "end" }, line)));
}

function coverageCaption(overview, isBudgetShown, uniform) {
  const lines = [];
  if (!isBudgetShown) lines.push(`The budget of ${moneyWords(overview.money.budget, overview.money.unit)} is far beyond the right edge.`);
  if (overview.uniform && !uniform) lines.push(`${wordsOf(overview).alike} would have cost about ${moneyWords(overview.uniform.cost, overview.money.unit)}, beyond the right edge.`);
  if (overview.uniform) lines.push(overview.uniform.rule);
  return lines.length ? h("figcaption", null, lines.join(" ")) : null;
}

/// Parts of a whole in a row: [[class, amount], …].
function stackedBar(parts, whole, label) {
  const svg = s("svg", { role: "img", "aria-label": label });
  let left = 0;
  for (const [name, amount] of parts) {
    if (amount <= 0 || whole <= 0) continue;
    const width = (100 * amount) / whole;
    svg.append(s("rect", { class: name, x: `${left}%`, width: `${width}%`, height: "100%" }));
    left += width;
  }
  if (left < 99.99) svg.append(s("rect", { class: "s-plain", x: `${left}%`, width: `${100 - left}%`, height: "100%" }));
  return svg;
}

/// Hatching, for readers who do not see the colours.
function hatching() {
  return s("svg", { width: 0, height: 0, "aria-hidden": "true", class: "unseen" }, s("defs", null,
    s("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("rect", { class: "hatch-ground", width: 5, height: 5 }), s("line", { class: "hatch-line", x1: 0, x2: 0, y1: 0, y2: 5 }))));
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const MEAN_STEPS = 63;
const SHARE_STEPS = 56;

/// A trail's points: [call, value], where the last is after the last call.
function trail(letters, calls, steps) {
  let stride = 1;
  while (Math.ceil(calls / stride) > letters.length) stride *= 2;
  return [...letters].map((letter, index) => [Math.min((index + 1) * stride, calls), LETTERS.indexOf(letter) / steps]);
}

/// A trail with its threshold, in a box.
function trailPath(points, calls, box, top) {
  const x = (call) => box.left + (calls <= 1 ? 0.5 : (call - 1) / (calls - 1)) * (box.right - box.left);
  const y = (value) => box.bottom - (Math.min(value, top) / top) * (box.bottom - box.top);
  const path = points.map(([call, value], index) => `${index ? "L" : "M"}${x(call).toFixed(1)},${y(value).toFixed(1)}`).join("");
  return { path, x, y, last: points[points.length - 1] };
}

/// The small picture of one verifier on one answer.
function spark(pair, threshold) {
  const [calls, , , , met, , means] = pair;
  const box = { left: 3, right: 61, top: 3, bottom: 25 };
  const svg = s("svg", { viewBox: "0 0 64 28", class: met ? "spark-box met" : "spark-box", "aria-hidden": "true" });
  const { path, x, y, last } = trailPath(trail(means, calls, MEAN_STEPS), calls, box, 1);
  svg.append(s("line", { class: "dash", x1: 0, x2: 64, y1: y(threshold), y2: y(threshold) }));
  if (last) svg.append(s("path", { class: "spark", d: path }), s("circle", { class: "spot", cx: x(last[0]), cy: y(last[1]), r: 2.4 }));
  return svg;
}

/// The same, larger, with its numbers: a mean, or evidence as a share of what is needed.
function trailChart(holder, points, calls, { line, top, lineLabel, met, label }) {
  drawn(holder, (width) => {
    const height = 96;
    const gutter = 46;
    const box = { left: gutter + 4, right: width - 8, top: 8, bottom: height - 18 };
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, height, class: met ? "met" : "", role: "img", "aria-label": label });
    const { path, x, y, last } = trailPath(points, calls, box, top);
    svg.append(s("line", { class: "axis", x1: gutter, x2: width, y1: box.bottom, y2: box.bottom }),
      s("line", { class: "dash", x1: gutter, x2: width, y1: y(line), y2: y(line) }),
      s("text", { x: gutter - 6, y: y(line) + 4, "text-anchor": "end" }, lineLabel),
      s("text", { x: gutter, y: height - 3 }, calls > 1 ? "call 1" : ""), s("text", { x: width, y: height - 3, "text-anchor": "end" }, `call ${count(calls)}`));
    if (last) svg.append(s("path", { class: "spark", d: path }), s("circle", { class: "spot", cx: x(last[0]), cy: y(last[1]), r: 3 }));
    replace(holder, svg);
  });
}
