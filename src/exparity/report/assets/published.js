/* Our mean effects beside the published ones. */
sections.published = () => {
  const { effects } = data("published");
  const node = document.getElementById("chart-published");
  const rows = effects.map((e) => ({ ...e, ours: number.value(e.ours), theirs: number.value(e.theirs), kind: e.flagged ? "flagged" : "not flagged" }))
    .filter((e) => Number.isFinite(e.ours) && Number.isFinite(e.theirs));
  if (!rows.length) {
    node.closest("figure").remove();
    return;
  }
  const size = Math.max(...rows.flatMap((e) => [Math.abs(e.ours), Math.abs(e.theirs)])) * 1.05;
  charts.show(node, (c, width) => {
    const scale = { domain: [-size, size], nice: false };
    const x = { type: "quantitative", title: "published mean d", scale };
    const y = { type: "quantitative", title: "our mean d", scale };
    const rect = (x1, x2, y1, y2) => ({ x1, x2, y1, y2 });
    const side = Math.min(420, width - 70);
    return {
      width: side, height: side, data: { values: rows },
      layer: [
        { data: { values: [rect(-size, 0, 0, size), rect(0, size, -size, 0)] }, mark: { type: "rect", color: c.soft },
          encoding: { x: { field: "x1", ...x }, x2: { field: "x2" }, y: { field: "y1", ...y }, y2: { field: "y2" } } },
        { data: { values: [rect(-size, size, -size, size)] }, mark: { type: "rule", color: c.quiet, strokeDash: [4, 3] },
          encoding: { x: { field: "x1", ...x }, x2: { field: "x2" }, y: { field: "y1", ...y }, y2: { field: "y2" } } },
        { mark: { type: "point", filled: true, size: 45, opacity: 0.8, color: c.ink },
          encoding: { x: { field: "theirs", ...x }, y: { field: "ours", ...y },
            shape: { field: "kind", type: "nominal", scale: { domain: ["not flagged", "flagged"], range: ["circle", "cross"] }, legend: { title: null, orient: "top" } } } },
      ],
    };
  });
};
