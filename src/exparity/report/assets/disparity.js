/* The disparity table: filters, and the tests of a cell in a dialog. */
sections.disparity = () => {
  const section = document.getElementById("disparity");
  const form = document.getElementById("disparity-filters");
  const shown = document.getElementById("disparity-shown");
  const { cells, tables: groups, methods, metrics, views } = data("disparity");
  const blocks = [...document.querySelectorAll(".disparity")];
  const nodes = [...document.querySelectorAll("td[data-cell]")];
  const detail = cellDetail(data("disparity"));
  const picked = (name) => form.elements[name].value;

  // What the table shows: how cells look in each view is part of the data

  function paint() {
    const judged = picked("view") === "verdicts";
    for (const word of document.querySelectorAll(".strength-word")) word.textContent = judged ? "larger gap" : "more seeds";
    nodes.forEach((node) => {
      const i = Number(node.dataset.cell);
      const it = look(i);
      node.className = it.style;
      node.querySelector(".count").textContent = it.text;
      node.querySelector("small").textContent = it.below;
      node.setAttribute("aria-label", label(i, it, node.hasAttribute("title")));
    });
  }

  /** A cell as it is chosen to be seen. */
  function look(i) {
    return views[picked("view")][i];
  }

  function label(i, it, flagged) {
    const table = groups[cells.table[i]];
    const better = metrics[cells.metric[i]].preference ? "better" : "more concentrated";
    const who = it.side in table ? `, ${better} for ${table[it.side]}` : "";
    const said = picked("view") === "verdicts" ? `${it.below}, gap ${it.text}` : `${it.text} of ${detail.seeds(i).length} seeds, ${it.below}`;
    const strong = it.strong ? ", considerable" : "";
    return `${cells.model[i]}, ${methods[cells.method[i]]}, ${metrics[cells.metric[i]].name}: ${said}${who}${strong}${flagged ? ", flagged" : ""}`;
  }

  function filter() {
    const wanted = (metric) =>
      (!picked("metric") || picked("metric") === metric) && (!picked("kind") || metrics[metric].kind === picked("kind"));
    let left = 0;
    const group = form.elements.group?.value;
    for (const matrix of section.querySelectorAll(".matrix")) {
      matrix.hidden = Boolean(picked("dataset")) && matrix.dataset.dataset !== picked("dataset");
    }
    for (const block of blocks) {
      block.hidden = (Boolean(picked("dataset")) && block.dataset.dataset !== picked("dataset")) ||
        (Boolean(group) && ![block.dataset.a, block.dataset.b].includes(group));
      for (const head of block.querySelectorAll("[data-metric]")) head.hidden = !wanted(head.dataset.metric);
      let above = null;
      for (const row of block.querySelectorAll("tbody tr")) {
        row.hidden = (Boolean(picked("model")) && row.dataset.model !== picked("model")) ||
          (Boolean(picked("method")) && row.dataset.method !== picked("method"));
        for (const cell of row.querySelectorAll("td[data-cell]")) {
          cell.hidden = !wanted(cells.metric[cell.dataset.cell]);
          if (!block.hidden && !row.hidden && !cell.hidden) left += 1;
        }
        if (row.hidden) continue;
        // The model's name is written where its first visible row is.
        const first = above !== row.dataset.model;
        row.classList.toggle("first", first);
        row.querySelector(".model").classList.toggle("again", !first);
        above = row.dataset.model;
      }
    }
    shown.textContent = `${left.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} cells`;
    grid.rove(section);
  }

  function unfold(node) {
    for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }

  /** Show the cells of a pair of groups. */
  function turnTo(node) {
    const block = blocks[Number(node.dataset.pair)];
    if (block.hidden) {
      form.elements.group.value = "";
      change();
    }
    unfold(block);
    grid.rove(block);
    grid.focus();
    block.scrollIntoView();
  }

  const grid = grids(section, open);
  const overview = document.getElementById("overview");
  const pairs = grids(overview, turnTo);
  for (const table of overview.querySelectorAll("table.pairs")) pairs.operable(table);
  pairs.rove(overview);
  for (const table of document.querySelectorAll(".disparity table")) {
    grid.operable(table);
    table.addEventListener("sorted", filter); // the first row of a model is another one
  }

  // The tests of one cell

  const dialog = document.getElementById("cell-dialog");
  const body = document.getElementById("cell-body");
  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    if (dialog.open) return; // it shows another cell by now
    address.put("disparity", { cell: [] });
    if (dialog.returnValue === texts.value) {
      const i = Number(grid.current.dataset.cell);
      showExplanations(groups[cells.table[i]].dataset, cells.model[i], cells.method[i], cells.metric[i]);
    } else grid.focus();
    dialog.returnValue = "";
  });
  const texts = document.getElementById("cell-texts");
  texts.addEventListener("click", () => dialog.close(texts.value));

  /** What names a cell in the address, whatever else a report holds. */
  const key = (i) => {
    const { dataset, a, b } = groups[cells.table[i]];
    return [dataset, a, b, cells.model[i], cells.method[i], cells.metric[i]];
  };

  function open(node) {
    grid.rove(node);
    const i = Number(node.dataset.cell);
    const table = groups[cells.table[i]];
    const metric = metrics[cells.metric[i]];
    address.put("disparity", { cell: key(i) });
    texts.hidden = !areExplained(table.dataset, cells.model[i], cells.method[i]);
    document.getElementById("cell-title").textContent =
      `${metric.name} of ${methods[cells.method[i]]}, ${cells.model[i]} on ${table.name}`;
    body.replaceChildren(...detail.parts(i, table, metric));
    body.querySelectorAll("table").forEach(tables.equip);
    dialog.showModal();
    dialog.scrollTop = 0;
    detail.draw(i, table, metric);
  }

  // What is chosen

  function change() {
    paint();
    filter();
    address.keep(form, "disparity");
  }

  function follow() {
    address.take(form, "disparity");
    paint();
    filter();
    const wanted = address.all("cell");
    const node = wanted.length ? nodes.find((other) => key(Number(other.dataset.cell)).every((id, k) => id === wanted[k])) : null;
    dialog.close();
    if (!node) return;
    unfold(node);
    open(node);
  }

  form.addEventListener("change", change);
  form.addEventListener("reset", () => setTimeout(change));
  form.addEventListener("submit", (event) => event.preventDefault());
  follow();
  return follow;
};
