/* Tables whose cells are chosen: by mouse, or by keyboard, where one of them is in the tab order and arrows
   go on from there. */
const grids = (root, choose) => {
  const CELL = "td[data-cell], td[data-pair]";
  const KEYS = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"];
  const isShown = (node) => node.getClientRects().length > 0;
  const cellsIn = (node) => [...node.querySelectorAll(CELL)].filter(isShown);
  let current = null;

  /** Put the first shown cell of a part of the page, or a cell itself, into the tab order. */
  function rove(node) {
    if (current) current.tabIndex = -1;
    current = (node.matches(CELL) ? node : cellsIn(node)[0]) ?? null;
    if (current) current.tabIndex = 0;
  }

  function next(node, key) {
    const row = cellsIn(node.parentElement);
    const place = row.indexOf(node);
    if (key === "ArrowRight") return row[place + 1];
    if (key === "ArrowLeft") return row[place - 1];
    if (key === "Home") return row[0];
    if (key === "End") return row.at(-1);
    const rows = [...root.querySelectorAll("table.grid tbody tr")].filter(isShown);
    const other = rows[rows.indexOf(node.parentElement) + (key === "ArrowDown" ? 1 : -1)];
    return other && cellsIn(other).find((cell) => cell.cellIndex >= node.cellIndex);
  }

  function operable(table) {
    table.setAttribute("role", "grid");
    for (const row of table.rows) row.setAttribute("role", "row");
    for (const node of table.querySelectorAll(CELL)) {
      node.setAttribute("role", "gridcell");
      node.tabIndex = -1;
    }
    table.addEventListener("click", (event) => {
      const node = event.target.closest(CELL);
      if (node) choose(node);
    });
    table.addEventListener("keydown", (event) => {
      const node = event.target.closest(CELL);
      if (!node) return;
      if (event.key === "Enter" || event.key === " ") choose(node);
      else if (!KEYS.includes(event.key)) return;
      else {
        const other = next(node, event.key);
        if (other) {
          rove(other);
          other.focus();
        }
      }
      event.preventDefault();
    });
  }

  return { operable, rove, focus: () => current?.focus(), get current() { return current; } };
};
