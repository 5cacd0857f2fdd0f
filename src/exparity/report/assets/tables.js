/* Tables sorted by a column. */
const tables = (() => {
  const MISSING = ["", "–", "undefined", "not tested"];

  const words = (nodes) => nodes.map((node) => node.textContent).join(" ").replace(/\s+/g, " ").trim();
  const text = (cell) => words([...cell.childNodes].filter((node) => node.nodeName !== "SMALL"));

  const number = (cell) => parseFloat((cell.dataset.value ?? text(cell)).replace(/−/g, "-").replace(/,/g, "").replace("∞", "Infinity"));

  /** Sort by a column: one way, the other way, and as it was. */
  function sort(table, head) {
    const body = table.tBodies[0];
    [...body.rows].forEach((row, i) => { row.dataset.place ??= i; });
    const column = head.cellIndex;
    const missing = (row) => MISSING.includes(text(row.cells[column]));
    const numeric = [...body.rows].every((row) => missing(row) || !Number.isNaN(number(row.cells[column])));
    const ways = numeric ? ["descending", "ascending", null] : ["ascending", "descending", null];
    const way = ways[(ways.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    if (way) head.setAttribute("aria-sort", way);
    const sign = way === "descending" ? -1 : 1;
    const order = (a, b) => numeric ? number(a.cells[column]) - number(b.cells[column])
      : text(a.cells[column]).localeCompare(text(b.cells[column]), "en", { numeric: true });
    const rows = [...body.rows].sort((a, b) => (way && (missing(a) - missing(b) || (!missing(a) && sign * order(a, b)))) || a.dataset.place - b.dataset.place);
    body.append(...rows);
    table.dispatchEvent(new Event("sorted"));
  }

  /** Put a button that sorts into each head of a table. */
  function equip(table) {
    const heads = table.tHead?.rows;
    if (!heads || "equipped" in table.dataset) return;
    table.dataset.equipped = "";
    if (heads.length === 1 && table.tBodies.length === 1 && !table.querySelector("[rowspan]")) {
      for (const head of heads[0].cells) {
        const button = make("button", { type: "button", class: "sort" }, [...head.childNodes]);
        button.addEventListener("click", () => sort(table, head));
        head.append(button);
      }
    }
  }
  return { equip };
})();
