/* Scores by group, one panel a method. */

/** The panel of one cell and seed, and its numbers by group; null where there is none. */
function distributionOf(dataset, model, method, metric, seed) {
  const all = data("distributions");
  if (!all) return null;
  const pair = all.pairs.findIndex(([d, m]) => d === dataset && m === model);
  const [x, y] = [all.methods.indexOf(method), all.metrics.indexOf(metric)];
  const cell = all.cells[(pair * all.methods.length + x) * all.metrics.length + y];
  const item = cell?.seeds[all.seeds.indexOf(seed)];
  if (!item) return null;
  const groups = item.numbers.map((numbers, g) => numbers && { name: all.groups[dataset][g], n: numbers[0], numbers: numbers[1] });
  return { axis: cell.axis, shapes: item.shapes, groups };
}

sections.distributions = () => {
  const form = document.getElementById("distribution-filters");
  const { pairs, methods, metrics, seeds, groups, datasets, names } = data("distributions");
  const control = form.elements;
  const scored = pairs.map(([dataset, model]) => metrics.filter((metric) => methods.some((method) =>
    seeds.some((seed) => distributionOf(dataset, model, method, metric, seed)))));
  const usable = pairs.filter((_, i) => scored[i].length);
  fill(control.pair, usable.map(([d, m]) => [`${d}/${m}`, `${datasets[d]}, ${m}`]));
  const chosenPair = () => usable[control.pair.selectedIndex];
  fill(control.seed, seeds.map((seed) => [seed, seed]));

  /** Offer the metrics that have scores on the chosen dataset. */
  function choose() {
    const before = control.metric.value;
    const ids = scored[pairs.indexOf(chosenPair())];
    fill(control.metric, ids.map((id) => [id, names.metrics[id].name]));
    if (ids.includes(before)) control.metric.value = before;
  }

  function update() {
    const [dataset, model] = chosenPair();
    const metric = names.metrics[control.metric.value];
    const rows = methods.map((method) => {
      const distribution = distributionOf(dataset, model, method, control.metric.value, Number(control.seed.value));
      return distribution && { ...distribution, label: names.methods[method] };
    }).filter(Boolean);
    document.getElementById("distributions-caption").textContent =
      `${metric.name} (${metric.unit}; ${metric.preference ? `${metric.preference} is better` : "neither end is better"})${groups[dataset].length > 1 ? " by group" : ""}, ${model} on ${datasets[dataset]}, seed ${control.seed.value}.` +
      (rows.length < methods.length ? ` ${methods.length - rows.length} methods have no scores.` : "");
    document.getElementById("chart-distributions").replaceChildren(...charts.panels(rows, groups[dataset], metric.unit));
    const head = ["Method", "Group", "n", "Minimum", "1st quartile", "Median", "3rd quartile", "Maximum"];
    const lines = rows.flatMap((row) => row.groups.filter(Boolean).map((group) => [row.label, group]));
    const columns = head.slice(3).map((_, k) => number.alike(lines.map(([, group]) => group.numbers[k])));
    const table = makeTable(null, head, lines.map(([label, group], i) =>
      [label, group.name, String(group.n), ...columns.map((column) => column[i])]), 2);
    document.getElementById("distributions-table").replaceChildren(scrollable("Distributions as a table", table));
    tables.equip(table);
  }
  form.addEventListener("change", (event) => {
    if (event.target === control.pair) choose();
    update();
    address.keep(form, "distributions");
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  function follow() {
    address.take(form, "distributions");
    choose(); // which metrics there are depends on the pair
    address.take(form, "distributions");
    update();
  }
  follow();
  return follow;
};
