sections.push(() => {
  const node = document.getElementById("chart-rates");
  const { metrics, alpha } = data("overview");
  const rows = metrics.flatMap((m) => [
    { metric: m.metric, series: "groups of the data", rate: m.rate, low: m.low, high: m.high },
    ...(m.control === null ? [] : [
      { metric: m.metric, series: "groups dealt at random", rate: m.control, low: m.control_low, high: m.control_high }]),
  ]);
  charts.show(node, (c, width) => {
    const y = { field: "metric", type: "nominal", title: null, sort: metrics.map((m) => m.metric) };
    const offset = { field: "series", sort: ["groups of the data", "groups dealt at random"] };
    const x = { type: "quantitative", title: "share significant", axis: { format: "%" }, scale: { domain: [0, 1] } };
    const color = {
      field: "series", type: "nominal", legend: { title: null, orient: "top" },
      scale: { domain: ["groups of the data", "groups dealt at random"], range: [c.accent, c.quiet] },
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
          encoding: { y, yOffset: offset, x: { ...x, field: "rate" }, color, shape: { ...color, scale: { domain: color.scale.domain, range: ["circle", "diamond"] } } } },
      ],
    };
  });
});
