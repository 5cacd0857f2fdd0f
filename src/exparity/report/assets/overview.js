sections.overview = () => {
  const node = document.getElementById("chart-rates");
  if (!node) return; // nothing was explained
  const { metrics, alpha } = data("overview");
  const series = ["explanations", "random explanations", "groups permuted"];
  const rows = metrics.flatMap((m) => [
    { metric: m.metric, series: series[0], rate: m.rate, low: m.low, high: m.high },
    ...(m.random === null ? [] : [{ metric: m.metric, series: series[1], rate: m.random, low: m.random_low, high: m.random_high }]),
    ...(m.control === null ? [] : [{ metric: m.metric, series: series[2], rate: m.control, low: m.control_low, high: m.control_high }]),
  ]);
  charts.show(node, (c, width) => {
    const y = { field: "metric", type: "nominal", title: null, sort: metrics.map((m) => m.metric) };
    const offset = { field: "series", sort: series };
    const x = { type: "quantitative", title: "share significant", axis: { format: "%" }, scale: { domain: [0, 1] } };
    const color = {
      field: "series", type: "nominal", legend: { title: null, orient: "top" },
      scale: { domain: series, range: [c.ink, c.quiet, c.line] },
    };
    return {
      data: { values: rows },
      width: beside(width, 150, 560),
      height: { step: 14 },
      layer: [
        { data: { values: [{ alpha }] }, mark: { type: "rule", strokeDash: [4, 3], color: c.quiet },
          encoding: { x: { field: "alpha", type: "quantitative" } } },
        { mark: { type: "rule", size: 2 }, encoding: { y, yOffset: offset, x: { ...x, field: "low" }, x2: { field: "high" }, color } },
        { mark: { type: "point", filled: true, size: 55, opacity: 1 },
          encoding: { y, yOffset: offset, x: { ...x, field: "rate" }, color, shape: { ...color, scale: { domain: color.scale.domain, range: ["circle", "square", "diamond"] } } } },
      ],
    };
  });
};
