/* What a cell of the disparity table opens: its verdicts, its tests by training, and their charts. */
const cellDetail = ({ cells, tests, excess, views, alpha, threshold, coverage }) => {
  const seeds = (i) => Array.from({ length: cells.start[i + 1] - cells.start[i] }, (_, k) => cells.start[i] + k);

  function parts(i, table, metric) {
    const rows = seeds(i);
    const flags = [...new Set(rows.flatMap((t) => tests.flags[t]))];
    const get = (name) => (t) => number.text(tests[name][t]);
    const interval = (of) => (t) => (of.d_ci_low[t] === null ? "undefined" : `${number.signed(of.d_ci_low[t], 3)} to ${number.signed(of.d_ci_high[t], 3)}`);
    const same = (name) => { const texts = number.alike(rows.map((t) => tests[name][t])); return (t) => texts[t - rows[0]]; };
    /** A p-value and what it tests; nothing where one training has none. */
    const testedBy = (quantity, name, what) => {
      const p = cells[`${quantity}.${name}`][i];
      return p === null ? "" : `p = ${number.text(p, 2)} (test of ${what})`;
    };
    const tested = ["skill", "excess", "score"].filter((quantity) => cells[`${quantity}.verdict`][i]);
    const named = { skill: "Skill", excess: "Excess over random explanations", score: "Scores" };
    const sentences = tested.map((quantity) => {
      const sentence = cells[`${quantity}.sentence`][i];
      const numbers = [
        sentence.includes("d = ") ? "" : `Cohen's d = ${number.signed(cells[`${quantity}.d`][i])}`,
        testedBy(quantity, "p_mean", "a zero mean gap"), testedBy(quantity, "p_large", `R ≤ ${threshold}`), testedBy(quantity, "p_small", `R ≥ ${threshold}`),
        `by Holm's correction ${cells[`${quantity}.verdict_strict`][i]}`,
      ].filter(Boolean).join("; ");
      return make("li", null, `${named[quantity]}: `, make("strong", null, cells[`${quantity}.verdict`][i]), `. ${sentence} ${numbers}.`);
    });
    const significant = views.published[i].text;
    const sentence = [
      `${significant} of ${rows.length} ${rows.length === 1 ? "training differs" : "trainings differ"} (Mann–Whitney, p ≤ ${alpha}, uncorrected). `,
      `Mean Cohen's d is ${number.signed(cells.mean_d[i])}${cells.both_signs[i] ? ", with seeds of opposite sign" : ""}; ${metric.preference ? `${metric.preference} values are better` : "neither end is better"}.`,
    ];
    const columns = [
      ["Seed", (t) => String(tests.seed[t])],
      [`n ${table.a}`, get("n_a")], [`n ${table.b}`, get("n_b")],
      [`mean ${table.a}`, same("mean_a")], [`mean ${table.b}`, same("mean_b")],
      ["Cohen's d", (t) => number.signed(tests.cohens_d[t], 3)],
      [`${coverage} interval`, interval(tests)],
      ["p Mann–Whitney", get("p")], ["p signed-rank", get("wilcoxon_p")],
      ["p Kruskal–Wallis", get("omnibus_p")], ["p Friedman", get("friedman_p")],
      ["undefined scores", (t) => `${tests.n_undefined[t]} of ${tests.n_examples[t]}`],
      ["accuracy", same("test_accuracy")],
      ["flags", (t) => tests.flags[t].join(", ")],
    ];
    const overRandom = [
      ["Seed", (t) => String(tests.seed[t])],
      ["p Mann–Whitney", (t) => number.text(excess.p[t])], ["p signed-rank", (t) => number.text(excess.wilcoxon_p[t])],
      ["Cohen's d", (t) => number.signed(excess.cohens_d[t], 3)],
      [`${coverage} interval`, interval(excess)],
      ["random draws that differ", (t) => number.text(tests.random_significant[t], 2)],
    ];
    const adjusted = [
      ["Seed", (t) => String(tests.seed[t])],
      ["difference", get("mean_difference")],
      ...["class", "length"].flatMap((by) => [
        [`at equal ${by}`, get(`${by}_adjusted_difference`)], ["p", get(`${by}_adjusted_p`)]]),
    ];
    /** A table of the columns in which some training has a value. */
    const tabled = (name, list) => {
      const columns = list.map(([head, cell]) => [head, rows.map(cell)])
        .filter(([, texts]) => texts.some((text) => text && !text.startsWith("undefined")));
      return scrollable(name, makeTable(name, columns.map(([head]) => head), rows.map((_, k) => columns.map(([, texts]) => texts[k]))));
    };
    return [
      make("div", { class: "pair" }, make("div", null,
        cells.moved[i] ? make("p", { class: "measure" }, make("strong", null, `${cells.moved[i]}. `), cells.certainty[i]) : null,
        cells.skill[i] ? make("p", { class: "measure" }, cells.skill[i]) : null,
        ...cells.notes[i].map((text) => make("p", { class: "note" }, text)),
        sentences.length ? make("ul", { class: "measure" }, sentences) : null,
        ...cells.beside[i].map((text) => make("p", { class: "measure" }, text)),
        make("p", { class: "measure" }, ...sentence),
        flags.length ? make("p", { class: "note" }, `Flagged: ${flags.join(", ")}. See Overview for what it means.`) : null,
        make("figure", null, make("div", { class: "chart", id: "chart-effects", role: "img", "aria-label": "Cohen's d and its interval by seed, as in the table" }),
          make("figcaption", null, `Cohen's d by seed with its ${coverage} interval; ● significant, × not; shaded: |d| < ${threshold}.`))),
        data("distributions") ? make("figure", null, make("div", { class: "chart", id: "chart-cell", role: "img", "aria-label": "Distributions of the scores by seed and group" }),
          make("figcaption", null, "Scores by group, one panel a seed.")) : null),
      tabled("Tests", columns),
      rows.some((t) => excess.p[t] !== null) ? tabled("Excess over random explanations", overRandom) : null,
      rows.some((t) => ["class", "length"].some((by) => tests[`${by}_adjusted_p`][t] !== null)) ? tabled("Adjusted gaps", adjusted) : null,
    ].filter(Boolean);
  }

  function draw(i, table, metric) {
    const effects = cells.effects[i];
    document.getElementById("chart-effects").replaceChildren(...(effects ? [charts.svg(effects)] : []));
    const node = document.getElementById("chart-cell");
    if (!node) return;
    const groups = data("distributions").groups[table.dataset];
    const panels = seeds(i).map((t) => [tests.seed[t], distributionOf(table.dataset, cells.model[i], cells.method[i], cells.metric[i], tests.seed[t])])
      .filter(([, panel]) => panel).map(([seed, panel]) => ({ ...panel, label: `seed ${seed}` }));
    if (panels.length) node.replaceChildren(...charts.panels(panels, groups, metric.unit));
    else node.replaceChildren(make("p", { class: "absent" }, "The scores of this cell are missing."));
  }

  return { seeds, parts, draw };
};
