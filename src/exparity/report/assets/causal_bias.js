/* Gaps class by class: statistical beside causal, a panel for each model. */
sections.causal_bias = () => {
  const { charts: all, rates } = data("causal_bias");
  const select = document.getElementById("causal-rate");
  const place = document.getElementById("causal-charts");
  fill(select, Object.entries(rates));
  const plots = all.map((chart) => {
    const [a, b] = chart.groups;
    const title = `${chart.dataset}, ${a} − ${b}`;
    const node = make("div", { class: "chart", role: "img" });
    place.append(make("figure", null, node, make("figcaption", null,
      `${title}: mean over seeds by class, with the range of the seeds. Classes are sorted by the statistical gap of ${chart.models[0]}.`)));
    return { chart, title, node };
  });

  function show() {
    for (const { chart, title, node } of plots) {
      const values = chart.gaps
        .filter((gap) => gap.rate === select.value)
        .map((gap) => ({ ...gap, mean: 100 * gap.mean, low: 100 * gap.low, high: 100 * gap.high }));
      const first = new Map(values
        .filter((gap) => gap.model === chart.models[0] && gap.kind === "statistical")
        .map((gap) => [gap.class_name, gap.mean]));
      const classes = chart.classes
        .filter((name) => values.some((gap) => gap.class_name === name))
        .sort((one, other) => (first.get(other) ?? 0) - (first.get(one) ?? 0));
      node.setAttribute("aria-label", `${rates[select.value]}, difference by class on ${title}; the numbers are in the tables.`);
      charts.show(node, (c, width) => {
        const labels = Math.min(170, 0.3 * width);
        const columns = Math.max(1, Math.min(chart.models.length, Math.floor((width - labels) / 150)));
        const y = { field: "class_name", type: "nominal", title: null, sort: classes };
        const x = { type: "quantitative", title: "percentage points", axis: { tickCount: 5, labelOverlap: true } };
        const shape = { field: "kind", type: "nominal", scale: { domain: ["statistical", "causal"], range: ["circle", "diamond"] }, legend: { title: null, orient: "top" } };
        const color = { ...shape, scale: { domain: ["statistical", "causal"], range: [c.ink, c.quiet] } };
        const beside = { yOffset: { field: "kind", scale: { domain: ["statistical", "causal"] } } };
        return {
          data: { values },
          facet: { field: "model", type: "nominal", sort: chart.models, title: null },
          columns,
          spec: {
            width: Math.max(90, (width - labels) / columns - 30),
            height: { step: 9 },
            layer: [
              { mark: { type: "rule", color: c.quiet }, encoding: { x: { datum: 0 } } },
              { mark: { type: "rule" }, encoding: { y, ...beside, x: { ...x, field: "low" }, x2: { field: "high" }, color } },
              { mark: { type: "point", filled: true, size: 40 }, encoding: { y, ...beside, x: { ...x, field: "mean" }, color, shape } },
            ],
          },
        };
      });
    }
  }
  select.addEventListener("change", show);
  show();
};
