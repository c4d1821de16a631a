// Elements, untrusted texts, and numbers for people. Nothing in these files makes markup from text:
// everything that is shown becomes a text node.

const byId = (id) => document.getElementById(id);
const readBlock = (id) => JSON.parse(byId(id).textContent);

/// An HTML element: attributes, then children (nodes or texts; null is left out).
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/// The same in SVG.
function s(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null));
}

// Invisible characters, and those that change the direction of writing: each is shown by its code. The joiners
// that scripts and emoji need are kept.
const CONTROLS = new RegExp(
  "([\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff0-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e0fff}])\\1*",
  "gu",
);

/// A text of others, isolated from the writing direction around it, with all hidden characters shown.
function untrusted(text, tag = "bdi", attributes = null) {
  const element = h(tag, attributes);
  const clean = text.replaceAll("\r\n", "\n");
  let end = 0;
  for (const match of clean.matchAll(CONTROLS)) {
    if (match.index > end) element.append(clean.slice(end, match.index));
    end = match.index + match[0].length;
    const code = match[1].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    const count = match[0].length / match[1].length;
    element.append(h("span", { class: "ctl" }, `U+${code}${count > 1 ? ` ×${count}` : ""}`));
  }
  if (end < clean.length) element.append(clean.slice(end));
  return element;
}

/// The beginning of a text on one line; no character is cut in two.
function preview(text, length) {
  let cut = text.slice(0, 4 * length).replace(/\s+/g, " ").trim();
  const isCut = cut.length > length || text.length > 4 * length;
  cut = cut.slice(0, length);
  if (/[\ud800-\udbff]$/.test(cut)) cut = cut.slice(0, -1);
  return isCut ? `${cut}…` : cut;
}

const count = (number) => number.toLocaleString("en-US");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

/// A number of significant digits, without zeros at the end.
function digits(number, significant) {
  if (number === 0) return "0";
  const whole = Math.floor(Math.log10(Math.abs(number))) + 1;
  const decimals = Math.max(0, Math.min(12, significant - whole));
  return number.toLocaleString("en-US", { maximumFractionDigits: decimals });
}


const score = (number) => (number === null ? "–" : number.toFixed(2));

function percent(share) {
  if (share > 0 && share < 0.001) return `${digits(100 * share, 2)} %`;
  return `${digits(100 * share, 3)} %`;
}

/// 1 − δ with all its nines: 99.99 % is not 100 %.
function confidence(delta) {
  const decimals = Math.min(15, Math.max(0, Math.ceil(-Math.log10(100 * delta))) + 1);
  return `${Number((100 - 100 * delta).toFixed(decimals)).toLocaleString("en-US", { maximumFractionDigits: decimals })} %`;
}

/// An amount in the unit of the budget.
function money(amount, unit) {
  const number = Number(amount);
  if (number > 0 && number < 1e-7) return unit === "dollars" ? "≈ $0" : "≈ 0";
  if (unit !== "dollars") return digits(number, Math.abs(number) >= 1000 ? 15 : 3).replace(/\.\d+$/, (rest) => (number >= 1000 ? "" : rest));
  if (number >= 1000) return `$${count(Math.round(number))}`;
  if (number >= 1) return `$${number.toFixed(2)}`;
  if (number === 0) return "$0";
  const text = digits(number, 3);
  return `$${/^0\.\d$/.test(text) ? `${text}0` : text}`;
}

/// The service that is called: for a criterion, its verifier.
const serviceName = (verifier) => verifier.criterion_of ?? verifier.name;

/// The cost of calls; a check that goodarm makes itself is free.
function paid(amount, verifier, unit) {
  return Number(verifier.ceiling) <= 1e-9 ? "free" : money(amount, unit);
}

/// An amount in a sentence.
function moneyWords(amount, unit) {
  if (unit === "dollars") return money(amount, unit);
  return `${money(amount, unit)} ${Number(amount) === 1 ? unit.slice(0, -1) : unit}`;
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${digits(1000 * seconds, 3)} ms`;
  if (seconds < 120) return `${digits(seconds, 3)} s`;
  if (seconds < 7200) return `${digits(seconds / 60, 2)} min`;
  return `${digits(seconds / 3600, 3)} h`;
}

const STATUSES = { c: "certified", u: "undecided", r: "rejected", a: "answered", o: "open" };
const MARKS = { certified: "M3.5 8.5l3 3 6-7", undecided: "M4 8h8", rejected: "M4.5 4.5l7 7m0-7l-7 7", answered: "M3.5 8.5l3 3 6-7", open: "M4 8h8" };

const mark = (name) => s("svg", { class: "mark", viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: MARKS[name] }));

function statusMark(name) {
  return h("span", { class: `status ${name}` }, mark(name), h("span", null, name));
}

/// The result of an exact verifier.
function outcome(isPassed) {
  return h("span", { class: isPassed ? "outcome pass" : "outcome" }, mark(isPassed ? "certified" : "rejected"), isPassed ? "passed" : "failed");
}
