// The part of the address after # selects what is shown: #q=text&status=certified&sort=-spent&open=ID.

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  return { q: address.get("q") ?? "", status: address.get("status") ?? "", sort: address.get("sort") ?? "", open: address.get("open") };
}

const remembered = { q: "", status: "", sort: "", open: null };

function writeAddress() {
  const address = new URLSearchParams();
  for (const [name, value] of Object.entries(remembered)) if (value) address.set(name, value);
  const text = address.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

function rememberView(view) {
  const isNew = ["q", "status", "sort"].some((name) => remembered[name] !== view[name]);
  Object.assign(remembered, view);
  if (isNew) writeAddress();
}

function rememberOpen(id) {
  remembered.open = id;
  writeAddress();
}

async function showAddress(table) {
  const { open, ...view } = readAddress();
  if (!table.titles.some(([name]) => name === view.sort.replace("-", ""))) view.sort = "";
  if (!table.statuses.includes(view.status)) view.status = "";
  remembered.open = open;
  await table.show(view);
  if (open) table.openId(open);
}
