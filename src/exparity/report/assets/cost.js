/* Time by method and metric. */
sections.cost = () => {
  const parts = data("cost");
  const node = document.getElementById("chart-cost");
  if (!parts.length) {
    node.closest("figure").remove();
    return;
  }
  const total = Math.max(...parts.map((p) => p.seconds));
  const [unit, by] = total >= 7200 ? ["hours", 3600] : total >= 120 ? ["minutes", 60] : ["seconds", 1];
  const rows = parts.map((p) => ({ ...p, time: p.seconds / by, name: `${p.stage}: ${p.part}` }));
  charts.show(node, (c, width) => ({
    width: beside(width, 260, 520), height: { step: 20 }, data: { values: rows },
    mark: { type: "bar" },
    encoding: {
      y: { field: "name", type: "nominal", title: null, sort: null },
      x: { field: "time", type: "quantitative", title: unit },
      color: { field: "stage", type: "nominal", legend: null, scale: { range: [c.ink, c.quiet] } },
    },
  }));
};
