/* What a cell of the disparity table opens: its verdicts, its tests by training, and their charts. */
const cellDetail = ({ cells, tests, excess, views, alpha, threshold, confidence }) => {
  const seeds = (i) => Array.from({ length: cells.start[i + 1] - cells.start[i] }, (_, k) => cells.start[i] + k);

  function parts(i, table, metric) {
    const rows = seeds(i);
    const flags = [...new Set(rows.flatMap((t) => tests.flags[t]))];
    const paired = rows.some((t) => tests.n_pairs[t]);
    const get = (name) => (t) => number.text(tests[name][t]);
    const same = (name) => { const texts = number.alike(rows.map((t) => tests[name][t])); return (t) => texts[t - rows[0]]; };
    const count = (test, correction) => { const view = views[`score.${test}.${correction}`]; return view.looks[view.of[i]].gaps; };
    const over = (quantity, name, digits = 3) => number.text(cells[`${quantity}.${name}`][i], digits);
    const tested = ["excess", "score"].filter((quantity) => cells[`${quantity}.verdict`][i]);
    const sentences = tested.map((quantity) => make("li", null,
      `${quantity === "excess" ? "Excess over random explanations" : "Scores"}: `,
      make("strong", null, cells[`${quantity}.verdict`][i]), `. ${cells[`${quantity}.sentence`][i]} `,
      `(d = ${number.signed(cells[`${quantity}.d`][i])}; p = ${over(quantity, "p_mean")} that the mean gap is zero, ${over(quantity, "p_large")} that R is small, ${over(quantity, "p_small")} that it is not; strict: ${cells[`${quantity}.verdict_strict`][i]}.)`));
    const sentence = [
      `Trainings one by one, of ${rows.length} differ ${paired ? `${count("signed_rank", "raw")} by signed rank (by Holm ${count("signed_rank", "holm")}), ` : ""}${count("mann_whitney", "raw")} by Mann–Whitney (by Holm ${count("mann_whitney", "holm")}), p ≤ ${alpha}. `,
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
    const overRandom = [
      ["Seed", (t) => String(tests.seed[t])],
      ["p", (t) => number.text(excess.p[t])], ["p signed-rank", (t) => number.text(excess.wilcoxon_p[t])],
      ["d", (t) => number.signed(excess.cohens_d[t], 3)],
      [`${Math.round(100 * confidence)} % interval`, (t) => `${number.signed(excess.d_ci_low[t], 3)} to ${number.signed(excess.d_ci_high[t], 3)}`],
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
      [`mean ${table.a}`, same("mean_a")], [`mean ${table.b}`, same("mean_b")],
      ["difference", same("mean_difference")],
      [`sd ${table.a}`, same("sd_a")], [`sd ${table.b}`, same("sd_b")],
      ["undefined", (t) => `${tests.n_undefined[t]} of ${tests.n_examples[t]}`],
      ["accuracy", same("test_accuracy")],
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
      rows.some((t) => excess.p[t] !== null) ? tabled("Excess over random explanations", overRandom) : null,
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

  return { seeds, parts, draw };
};
