// The report begins.

document.body.prepend(hatching());
showOverview(readBlock("overview"));

addEventListener("DOMContentLoaded", () => {
  const table = new Answers(readBlock("overview"), readBlock("columns"));
  listenToDialog(table);
  addEventListener("hashchange", () => { if (location.hash.includes("=") || location.hash === "") showAddress(table); });
  showAddress(table);
});
