/* The disparity table: filters, corrections, margins, and the tests of a cell in a dialog. */
sections.disparity = () => {
  const form = document.getElementById("disparity-filters");
  const shown = document.getElementById("disparity-shown");
  const margins = document.getElementById("disparity-margins");
  const { cells, tests, tables: groups, methods, metrics, alpha, threshold, confidence } = data("disparity");
  const blocks = [...document.querySelectorAll(".disparity")];
  const nodes = [...document.querySelectorAll("td[data-cell]")];
  const picked = (name) => form.elements[name].value;
  const seeds = (i) => Array.from({ length: cells.start[i + 1] - cells.start[i] }, (_, k) => cells.start[i] + k);

  // What the table shows

  function paint() {
    for (const word of document.querySelectorAll(".strength-word")) {
      word.textContent = picked("test") === "crossed" ? "larger |d|" : "more seeds";
    }
    for (const { firstElementChild } of document.querySelectorAll(".disparity > .scroll")) {
      firstElementChild.dataset.below = picked("test") === "crossed" ? "verdict" : "mean d";
    }
    nodes.forEach((node) => {
      const i = Number(node.dataset.cell);
      const it = outcome(i);
      const strong = it.strength && Math.abs(it.d) >= threshold;
      node.className = `n s${it.strength}${it.strength ? tint(it.better) : ""}${strong ? " strong" : ""}${it.verdict === "equivalent" ? " eq" : ""}`;
      node.querySelector(".count").textContent = it.text;
      node.querySelector("small").textContent = it.below;
      node.setAttribute("aria-label", label(i, it, strong, node.hasAttribute("title")));
    });
  }

  const tint = (better) => (better > 0 ? " a" : better < 0 ? " b" : "");

  /** A cell as it is chosen to be seen. `better` is above 0 where the first group is explained better, and
      `differing` of `trials` differ: of its verdict, or of its seeds. */
  function outcome(i) {
    const get = (name) => cells[`${picked("quantity")}.${name}`][i];
    const both = get("both_signs") ? " ±" : "";
    const side = (d) => Math.sign(d ?? 0) * (metrics[cells.metric[i]].direction === "lower" ? -1 : 1);
    if (picked("test") === "crossed") {
      const verdict = get(`verdict.${picked("correction")}`);
      const d = verdict ? number.value(get("d")) : null;
      const differs = verdict === "different";
      return {
        d, verdict, better: side(d), differing: Number(differs), trials: Number(Boolean(verdict)),
        strength: differs ? Math.min(8, Math.max(2, Math.round(8 * Math.abs(d)))) : 0,
        text: d === null ? "–" : number.signed(d), below: (verdict || "not tested") + both,
      };
    }
    const d = number.value(get("mean_d"));
    const [differing, trials] = [get(`${picked("test")}.${picked("correction")}`), cells.start[i + 1] - cells.start[i]];
    return {
      d, better: side(d), differing, trials, strength: Math.round((8 * differing) / trials), text: String(differing),
      below: (d === null ? "undefined" : `d = ${number.signed(d)}`) + both,
    };
  }

  function label(i, it, strong, flagged) {
    const table = groups[cells.table[i]];
    const who = it.strength && it.better ? `, better for ${it.better > 0 ? table.a : table.b}` : "";
    const said = picked("test") === "crossed" ? `${it.below}, d ${it.text}` : `${it.text} of ${it.trials} seeds, ${it.below}`;
    return `${cells.model[i]}, ${methods[cells.method[i]]}, ${metrics[cells.metric[i]].name}: ${said}${who}${strong ? ", considerable" : ""}${flagged ? ", flagged" : ""}`;
  }

  function filter() {
    const wanted = (metric) =>
      (!picked("metric") || picked("metric") === metric) && (!picked("kind") || metrics[metric].kind === picked("kind"));
    const left = [];
    for (const block of blocks) {
      block.hidden = Boolean(picked("dataset")) && block.dataset.dataset !== picked("dataset");
      for (const head of block.querySelectorAll("[data-metric]")) head.hidden = !wanted(head.dataset.metric);
      let above = null;
      for (const row of block.querySelectorAll("tbody tr")) {
        row.hidden = (Boolean(picked("model")) && row.dataset.model !== picked("model")) ||
          (Boolean(picked("method")) && row.dataset.method !== picked("method"));
        for (const cell of row.querySelectorAll("td[data-cell]")) {
          cell.hidden = !wanted(cells.metric[cell.dataset.cell]);
          if (!block.hidden && !row.hidden && !cell.hidden) left.push(Number(cell.dataset.cell));
        }
        if (row.hidden) continue;
        // The model's name is written where its first visible row is.
        const first = above !== row.dataset.model;
        row.classList.toggle("first", first);
        row.querySelector(".model").classList.toggle("again", !first);
        above = row.dataset.model;
      }
    }
    shown.textContent = `${left.length.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} cells`;
    if (margins) margins.replaceChildren(heatMap(left));
    rove(visible(document)[0]);
    return left;
  }

  // Margins: of each dataset, method and metric, how many models differ in favour of whom

  function heatMap(left) {
    const sums = new Map();
    const columns = [...new Set(left.map((i) => cells.metric[i]))];
    for (const i of left) {
      const row = JSON.stringify([cells.table[i], cells.method[i]]);
      if (!sums.has(row)) sums.set(row, new Map(columns.map((id) => [id, { a: 0, b: 0, trials: 0 }])));
      const sum = sums.get(row).get(cells.metric[i]);
      const { better, differing, trials } = outcome(i);
      sum.trials += trials;
      if (better) sum[better > 0 ? "a" : "b"] += differing;
    }
    const unit = picked("test") === "crossed" ? "models" : "trainings";
    const head = ["Dataset", "Method", ...columns.map((id) => `${metrics[id].name} ${metrics[id].direction === "lower" ? "↓" : "↑"}`)];
    const body = [...sums].map(([row, sum]) => {
      const [t, method] = JSON.parse(row);
      const { name, a, b } = groups[t];
      return make("tr", null, make("th", { scope: "row" }, `${name} `, make("small", null, `${a} | ${b}`)), make("th", { scope: "row" }, methods[method]),
        columns.map((id) => {
          const it = sum.get(id);
          const strength = it.trials ? Math.round((8 * Math.abs(it.a - it.b)) / it.trials) : 0;
          const said = `${name}, ${methods[method]}, ${metrics[id].name}: of ${it.trials} ${unit}, ${it.a} better for ${a}, ${it.b} for ${b}`;
          return make("td", { class: `n s${strength}${tint(it.a - it.b)}`, "data-margin": JSON.stringify([t, method, id]), "aria-label": said },
            make("span", { class: "count" }, it.trials ? `${it.a} | ${it.b}` : "–"), make("small", null, `of ${it.trials}`));
        }));
    });
    const caption = make("caption", null, make("strong", null, "Margins"),
      ` over models: how many ${unit} differ, better for the first group | for the second. The colour is that of the larger number, and stronger the further they are apart. Choose a cell to see its models.`);
    const table = make("table", { class: "grid", "data-below": unit }, caption,
      make("thead", null, make("tr", null, head.map((text, k) => make("th", { scope: "col", "data-metric": k > 1 ? columns[k - 2] : null }, text)))),
      make("tbody", null, body));
    const block = make("div", null, scrollable("Margins over models", table));
    operable(table);
    tables.equip(table);
    return block;
  }

  function narrow(node) {
    const [t, method, metric] = JSON.parse(node.dataset.margin);
    Object.entries({ dataset: groups[t].dataset, method, metric, model: "", kind: "" }).forEach(([name, value]) => { form.elements[name].value = value; });
    document.getElementById("disparity-cells").open = true;
    change();
    rove(visible(blocks[t])[0]);
    current.focus();
  }

  // Moving through the cells by keyboard: one of them is in the tab order, arrows go on from there

  const CELL = "td[data-cell], td[data-margin]";
  const visible = (root) => [...root.querySelectorAll(CELL)].filter((node) => node.getClientRects().length);
  let current = null;
  function rove(node) {
    if (current) current.tabIndex = -1;
    current = node || null;
    if (current) current.tabIndex = 0;
  }
  function move(node, key) {
    const row = visible(node.parentElement);
    const place = row.indexOf(node);
    if (key === "ArrowRight") return row[place + 1];
    if (key === "ArrowLeft") return row[place - 1];
    if (key === "Home") return row[0];
    if (key === "End") return row.at(-1);
    const rows = [...document.querySelectorAll("#disparity table.grid tbody tr")].filter((r) => r.getClientRects().length);
    const next = rows[rows.indexOf(node.parentElement) + (key === "ArrowDown" ? 1 : -1)];
    return next && visible(next).find((other) => other.cellIndex >= node.cellIndex);
  }
  const keys = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"];
  const choose = (node) => ("cell" in node.dataset ? open(node) : narrow(node));

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
      else if (!keys.includes(event.key)) return;
      else {
        const next = move(node, event.key);
        if (next) {
          rove(next);
          next.focus();
        }
      }
      event.preventDefault();
    });
  }
  for (const table of document.querySelectorAll(".disparity table")) {
    operable(table);
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
      const i = Number(current.dataset.cell);
      showExplanations(groups[cells.table[i]].dataset, cells.model[i], cells.method[i], cells.metric[i]);
    } else current?.focus();
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
    rove(node);
    const i = Number(node.dataset.cell);
    const table = groups[cells.table[i]];
    const metric = metrics[cells.metric[i]];
    address.put("disparity", { cell: key(i) });
    texts.hidden = !areExplained(table.dataset, cells.model[i], cells.method[i]);
    document.getElementById("cell-title").textContent =
      `${metric.name} of ${methods[cells.method[i]]}, ${cells.model[i]} on ${table.name}`;
    body.replaceChildren(...details(i, table, metric));
    body.querySelectorAll("table").forEach(tables.equip);
    dialog.showModal();
    dialog.scrollTop = 0;
    draw(i, table, metric);
  }

  function details(i, table, metric) {
    const rows = seeds(i);
    const flags = [...new Set(rows.flatMap((t) => tests.flags[t]))];
    const get = (name) => (t) => number.text(tests[name][t]);
    const seedsBy = (key) => `${cells[`score.${key}`][i]}`;
    const over = (quantity, name, digits = 3) => number.text(cells[`${quantity}.${name}`][i], digits);
    const tested = ["excess", "score"].filter((quantity) => cells[`${quantity}.verdict.holm`][i]);
    const sentences = tested.map((quantity) => make("li", null,
      `${quantity === "excess" ? "Excess over random explanations" : "Scores"}: `,
      make("strong", null, cells[`${quantity}.verdict.holm`][i]),
      ` (d = ${number.signed(cells[`${quantity}.d`][i])}; p = ${over(quantity, "p")}, by Holm ${over(quantity, "p_holm")}; equivalence p = ${over(quantity, "equivalence_p")}). `,
      `Minimal detectable |d|: ${over(quantity, "minimal_detectable_effect", 2)}, for all cells of the dataset ${over(quantity, "minimal_detectable_effect_corrected", 2)}.`));
    const sentence = [
      `Trainings one by one: ${seedsBy("signed_rank.raw")} of ${rows.length} differ by signed rank (by Holm ${seedsBy("signed_rank.holm")}), ${seedsBy("mann_whitney.raw")} by Mann–Whitney (by Holm ${seedsBy("mann_whitney.holm")}), p ≤ ${alpha}. `,
      `Mean d is ${number.signed(cells["score.mean_d"][i])}${cells["score.both_signs"][i] ? ", with seeds of opposite sign" : ""}; ${metric.direction} values are better.`,
    ];
    const columns = [
      ["Seed", (t) => String(tests.seed[t])],
      ["U", get("U")], ["p", get("p")], ["p Holm", get("p_holm")], ["p BH", get("p_bh")],
      ["d", (t) => number.signed(tests.cohens_d[t], 3)],
      [`${Math.round(100 * confidence)} % interval`, (t) => `${number.signed(tests.d_ci_low[t], 3)} to ${number.signed(tests.d_ci_high[t], 3)}`],
      ["Rank-biserial", (t) => number.signed(tests.rank_biserial[t], 3)],
      ["Sets", get("n_pairs")], ["p signed-rank", get("wilcoxon_p")], ["p Holm", get("wilcoxon_p_holm")], ["d_z", (t) => number.signed(tests.d_z[t], 3)],
    ];
    const excess = [
      ["Seed", (t) => String(tests.seed[t])],
      ["p", get("excess_p")], ["p signed-rank", get("excess_wilcoxon_p")],
      ["d", (t) => number.signed(tests.excess_cohens_d[t], 3)],
      [`${Math.round(100 * confidence)} % interval`, (t) => `${number.signed(tests.excess_d_ci_low[t], 3)} to ${number.signed(tests.excess_d_ci_high[t], 3)}`],
      ["random draws that differ", (t) => number.text(tests.random_significant[t], 2)],
    ];
    const adjusted = [
      ["Seed", (t) => String(tests.seed[t])],
      ["difference", get("mean_difference")],
      ...["class", "length", "confidence"].flatMap((by) => [
        [`at equal ${by}${by === "confidence" ? " (a mediator)" : ""}`, get(`${by}_adjusted_difference`)], ["p", get(`${by}_adjusted_p`)]]),
    ];
    const means = [
      ["Seed", (t) => String(tests.seed[t])],
      [`n ${table.a}`, get("n_a")], [`n ${table.b}`, get("n_b")],
      [`mean ${table.a}`, get("mean_a")], [`mean ${table.b}`, get("mean_b")],
      ["difference", get("mean_difference")],
      [`sd ${table.a}`, get("sd_a")], [`sd ${table.b}`, get("sd_b")],
      ["undefined", (t) => `${tests.n_undefined[t]} of ${tests.n_examples[t]}`],
      ["accuracy", get("test_accuracy")],
      ["flags", (t) => tests.flags[t].join(", ")],
    ];
    const omnibus = rows.some((t) => tests.omnibus_p[t] !== null);
    if (omnibus) columns.push(["p Kruskal–Wallis", get("omnibus_p")], ["p Friedman", get("friedman_p")]);
    const tabled = (name, list) =>
      scrollable(name, makeTable(name, list.map(([head]) => head), rows.map((t) => list.map(([, cell]) => cell(t)))));
    return [
      sentences.length ? make("ul", { class: "measure" }, sentences) : null,
      make("p", { class: "measure" }, ...sentence),
      flags.length ? make("p", { class: "note" }, `Flagged: ${flags.join(", ")}. See Overview for what it means.`) : null,
      make("div", { class: "pair" },
        make("figure", null, make("div", { class: "chart", id: "chart-effects", role: "img", "aria-label": "Cohen's d and its interval by seed, as in the table" }),
          make("figcaption", null, `Cohen's d by seed with its ${Math.round(100 * confidence)} % interval; shaded: |d| < ${threshold}.`)),
        data("distributions") ? make("figure", null, make("div", { class: "chart", id: "chart-cell", role: "img", "aria-label": "Distributions of the scores by seed and group" }),
          make("figcaption", null, "Scores by group, one panel a seed.")) : null),
      tabled("Tests", columns),
      rows.some((t) => tests.excess_p[t] !== null) ? tabled("Excess over random explanations", excess) : null,
      tabled("Scores", means),
      rows.some((t) => ["class", "length", "confidence"].some((by) => tests[`${by}_adjusted_p`][t] !== null)) ? tabled("Adjusted gaps", adjusted) : null,
    ].filter(Boolean);
  }

  function draw(i, table, metric) {
    const rows = seeds(i).map((t) => ({
      seed: `seed ${tests.seed[t]}`, d: number.value(tests.cohens_d[t]), low: number.value(tests.d_ci_low[t]),
      high: number.value(tests.d_ci_high[t]), verdict: tests.significant[t] ? "significant" : "not significant",
    })).filter((row) => Number.isFinite(row.d));
    charts.draw(document.getElementById("chart-effects"), (c, width) => {
      const y = { field: "seed", type: "nominal", title: null, sort: null };
      const x = { type: "quantitative", title: `Cohen's d, ${table.a} − ${table.b}` };
      return {
        width: Math.min(420, width - 80), height: { step: 26 }, data: { values: rows },
        layer: [
          { data: { values: [{ from: -threshold, to: threshold }] }, mark: { type: "rect", color: c.soft },
            encoding: { x: { field: "from", ...x }, x2: { field: "to" } } },
          { data: { values: [{ zero: 0 }] }, mark: { type: "rule", color: c.quiet }, encoding: { x: { field: "zero", ...x } } },
          { transform: [{ filter: "isValid(datum.low) && isValid(datum.high)" }], mark: { type: "rule", size: 2, color: c.ink },
            encoding: { y, x: { field: "low", ...x }, x2: { field: "high" } } },
          { mark: { type: "point", size: 70, filled: true, opacity: 1, color: c.ink },
            encoding: { y, x: { field: "d", ...x }, shape: { field: "verdict", type: "nominal",
              scale: { domain: ["significant", "not significant"], range: ["circle", "cross"] }, legend: { title: null, orient: "top" } } } },
        ],
      };
    });
    const node = document.getElementById("chart-cell");
    if (!node) return;
    const plots = seeds(i).map((t) => distributionOf(table.dataset, cells.model[i], cells.method[i], cells.metric[i], tests.seed[t]))
      .map((row, k) => row && { ...row, label: `seed ${tests.seed[cells.start[i] + k]}` }).filter(Boolean);
    const groups = data("distributions").groups[table.dataset];
    if (plots.length) charts.draw(node, violins(plots, groups, data("distributions").points, { title: metric.unit, shared: true, height: 180 }));
    else node.replaceChildren(make("p", { class: "absent" }, "The scores of this cell are not there."));
  }

  // What is chosen

  function change() {
    paint();
    filter();
    address.keep(form, "disparity");
  }

  /** The shown cells as rows, named as in the downloads. */
  function download() {
    const head = ["dataset", "model", "method", "metric", "group_a", "group_b", "compared", "test", "correction",
      "verdict", "d", "significant_runs", "total_runs", "seeds_of_either_sign", "flags"];
    const rows = filter().map((i) => {
      const [dataset, a, b, model, method, metric] = key(i);
      const it = outcome(i);
      const single = picked("test") !== "crossed";
      const flags = [...new Set(seeds(i).flatMap((t) => tests.flags[t]))].sort().join(";");
      return [dataset, model, method, metric, a, b, picked("quantity"), picked("test"), picked("correction"), it.verdict, it.d,
        single ? it.differing : "", single ? it.trials : "", cells[`${picked("quantity")}.both_signs`][i], flags];
    });
    tables.download("disparity", tables.csv([head, ...rows]));
  }

  function follow() {
    address.take(form, "disparity");
    paint();
    filter();
    const wanted = address.all("cell");
    const node = wanted.length ? nodes.find((other) => key(Number(other.dataset.cell)).every((id, k) => id === wanted[k])) : null;
    dialog.close();
    if (!node) return;
    const fold = document.getElementById("disparity-cells");
    if (fold) fold.open = true;
    open(node);
  }

  form.addEventListener("change", change);
  form.addEventListener("reset", () => setTimeout(change));
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("disparity-download").addEventListener("click", download);
  follow();
  return follow;
};
