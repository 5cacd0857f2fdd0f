/* Tables sorted by a column, copied as CSV or LaTeX, and downloaded: as they are shown. */
const tables = (() => {
  const NUMBER = /^[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[+-]?\d+)?$/;
  const MISSING = ["", "–", "undefined", "not tested"];
  const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "−": "$-$",
    "×": "$\\times$", "±": "$\\pm$", "↑": "$\\uparrow$", "↓": "$\\downarrow$", "≤": "$\\leq$", "∞": "$\\infty$" };

  const words = (nodes) => nodes.map((node) => node.textContent).join(" ").replace(/\s+/g, " ").trim();
  const text = (cell) => words([...cell.childNodes].filter((node) => node.nodeName !== "SMALL"));
  const below = (cell) => words([...cell.querySelectorAll("small")]);
  const shown = (row) => [...row.cells].filter((cell) => !cell.hidden);
  const bodyRows = (table) => [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.hidden);

  // Sorting

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

  // Copies and downloads

  /** Cells of rows by line and column; one that spans several is in each of them. */
  function grid(rows) {
    const lines = rows.map(() => []);
    rows.forEach((row, y) => {
      let x = 0;
      for (const cell of shown(row)) {
        while (lines[y][x]) x += 1;
        for (const line of lines.slice(y, y + cell.rowSpan)) for (let i = 0; i < cell.colSpan; i += 1) line[x + i] = cell;
      }
    });
    return lines;
  }

  /** Heads and rows of what is shown; what stands small below a number has a column of its own. */
  function columns(table) {
    const heads = grid([...table.tHead.rows]);
    const rows = grid(bodyRows(table));
    return heads.at(-1).map((head, i) => ({
      head: [...new Set(heads.map((line) => line[i]))].map(text).filter(Boolean).join(": "),
      right: head.classList.contains("r"), centre: "metric" in head.dataset,
      cells: rows.map((row) => text(row[i])), small: rows.map((row) => below(row[i])),
    }));
  }

  /** Comma-separated values. What a spreadsheet would compute has an apostrophe before it, as in the downloads. */
  function csv(rows) {
    const cell = (value) => {
      const plain = String(value ?? "").replace(/−(?=\d)/g, "-");
      if (NUMBER.test(plain)) return plain.replace(/,/g, "");
      const safe = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
  }

  const tableCsv = (table) => {
    const all = columns(table).flatMap(({ head, cells, small }) =>
      [[head, ...cells], ...(small.some(Boolean) ? [[`${head}: ${table.dataset.below || "below"}`, ...small]] : [])]);
    return csv(all[0].map((_, i) => all.map((column) => column[i])));
  };

  const escaped = (value) => value.replace(/[\\&%$#_{}~^−×±↑↓≤∞]/g, (character) => LATEX[character] ?? `\\${character}`);

  function tableLatex(table) {
    const all = columns(table);
    const line = (cells) => `${cells.map(escaped).join(" & ")} \\\\`;
    const kind = ({ right, centre }) => (right ? "r" : centre ? "c" : "l");
    return [
      "% Needs \\usepackage{booktabs}.", `\\begin{tabular}{${all.map(kind).join("")}}`, "\\toprule",
      line(all.map(({ head }) => head)), "\\midrule",
      ...all[0].cells.map((_, i) => line(all.map(({ cells, small }) => cells[i] + (small[i] ? ` (${small[i]})` : "")))),
      "\\bottomrule", "\\end{tabular}", "",
    ].join("\n");
  }

  function download(name, content) {
    const url = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
    make("a", { href: url, download: `${name.replace(/[^\w-]+/g, "_")}.csv` }).click();
    URL.revokeObjectURL(url);
  }

  async function copy(content, said) {
    try {
      await navigator.clipboard.writeText(content);
      said.textContent = "copied";
    } catch {
      said.textContent = "the browser does not let this page copy; download it instead";
    }
  }

  /** Give a table buttons: in its heads to sort it, and below it to take it along. */
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
    const name = text(table.caption?.querySelector("strong") ?? table.closest("section").querySelector("h2"));
    const said = make("output", { "aria-live": "polite" });
    const button = (label, does) => {
      const node = make("button", { type: "button", "aria-label": `${label}: ${name}` }, label);
      node.addEventListener("click", does);
      return node;
    };
    (table.closest(".scroll") ?? table).after(make("p", { class: "tools" },
      button("Copy as CSV", () => copy(tableCsv(table), said)), button("Copy as LaTeX", () => copy(tableLatex(table), said)),
      button("Download as CSV", () => download(name, tableCsv(table))), said));
  }
  return { equip, csv, download };
})();
