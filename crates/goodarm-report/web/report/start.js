// Shows the report.

document.body.prepend(hatching());
showOverview(readBlock("overview"));

addEventListener("DOMContentLoaded", () => {
  const overview = readBlock("overview");
  const table = new (overview.questions ? Questions : Answers)(overview, readBlock("columns"));
  listenToDialog(table);
  addEventListener("hashchange", () => { if (location.hash.includes("=") || location.hash === "") showAddress(table); });
  showAddress(table);
});
