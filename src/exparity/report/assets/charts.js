/* Plots with Vega-Lite. Expressions are interpreted, so that the page needs no evaluated code.
   A plot is drawn once the browser has time for it, and again when colours or width change. */
const charts = (() => {
  const drawn = new Map();
  const probe = () => {
    const node = make("i", { class: "hidden" });
    document.body.append(node);
    const colours = {};
    for (const name of ["ink", "quiet", "line", "paper", "a", "b", "soft"]) {
      node.style.color = `var(--${name})`;
      colours[name] = getComputedStyle(node).color;
    }
    node.remove();
    return colours;
  };
  const config = (c, width) => ({
    background: "transparent",
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    axis: { labelColor: c.ink, titleColor: c.quiet, gridColor: c.line, domainColor: c.line, tickColor: c.line,
            labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: Math.min(260, 0.4 * width) },
    legend: { labelColor: c.ink, titleColor: c.quiet, columns: width < 480 ? 1 : 0, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
    header: { labelColor: c.ink, titleColor: c.quiet, labelFontSize: 12 },
    text: { color: c.ink },
  });

  async function draw(node, make_spec) {
    const colours = probe();
    const width = Math.max(260, node.clientWidth || node.parentElement.clientWidth);
    const compiled = vegaLite.compile({ config: config(colours, width), ...make_spec(colours, width) }).spec;
    const runtime = vega.parse(compiled, null, { ast: true });
    drawn.get(node)?.view?.finalize();
    const view = new vega.View(runtime, { renderer: "svg", expr: vega.expressionInterpreter, hover: false });
    drawn.set(node, { spec: make_spec, view, width: node.clientWidth });
    delete node.dataset.drawn;
    // The plot of before stays until this one is whole, so that nothing below it jumps.
    const plot = make("div");
    view.initialize(plot);
    await view.runAsync();
    if (drawn.get(node).view !== view) return; // another choice was made meanwhile
    // A plot that has a label in words is one image to a screen reader.
    if (node.getAttribute("role") === "img") plot.querySelector("svg")?.setAttribute("aria-hidden", "true");
    node.replaceChildren(plot);
    node.dataset.drawn = "yes";
  }

  /** Draw a plot, the first time when all else is there; `spec` is called with colours and width. */
  function show(node, spec) {
    const known = drawn.get(node);
    drawn.set(node, { ...known, spec });
    if (known?.view) draw(node, spec);
    else if (!known) setTimeout(() => drawn.get(node).view || draw(node, drawn.get(node).spec));
  }
  /** Draw at once what is not drawn yet. */
  const rest = () => drawn.forEach(({ spec, view }, node) => view || draw(node, spec));
  const again = () => drawn.forEach(({ spec, view }, node) => view && node.isConnected && draw(node, spec));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => drawn.forEach(({ spec, view, width }, node) => {
      if (view && node.isConnected && node.clientWidth !== width) draw(node, spec);
    }), 200);
  });
  return { show, draw, rest };
})();

/** Violins with quartile boxes: a panel for each of `rows`, {label, low, high, groups: [{name, numbers, density}]}. */
function violins(rows, groups, points, options) {
  const values = [];
  for (const row of rows) {
    row.groups.forEach((group, centre) => {
      if (!group) return;
      const [low, q1, median, q3, high] = group.numbers;
      const common = { panel: row.label, group: group.name };
      values.push({ ...common, kind: "box", centre, low, q1, median, q3, high });
      group.density.forEach((height, i) => {
        const share = i / (points - 1);
        const value = row.low * (1 - share) + row.high * share;
        // Beyond a group's own scores there is nothing to draw.
        if (value < low || value > high) return;
        const half = (0.45 * height) / 99;
        values.push({ ...common, kind: "shape", value, from: centre - half, to: centre + half });
      });
    });
  }
  const only = (kind) => [{ filter: `datum.kind === "${kind}"` }];
  return (c, width) => {
    // As many a line as fit, and about as many in each line.
    const lines = Math.ceil(rows.length / Math.max(1, Math.floor(width / 175)));
    const columns = Math.ceil(rows.length / lines);
    const axis = options.shared ? 40 : 52 * columns;
    const panel = Math.max(90, Math.min(200, Math.floor((width - axis - 20 * columns) / columns)));
    const x = { type: "quantitative", axis: null, scale: { domain: [-0.6, groups.length - 0.4], nice: false } };
    const y = { type: "quantitative", title: options.title, scale: { zero: false } };
    const color = {
      field: "group", type: "nominal", scale: { domain: groups, range: palette(c, groups.length) },
      legend: { title: null, orient: "top" },
    };
    return {
      data: { values },
      facet: { field: "panel", type: "nominal", sort: rows.map((row) => row.label), title: null },
      columns,
      spacing: 16,
      spec: {
        width: panel,
        height: options.height || 200,
        layer: [
          { transform: only("shape"), mark: { type: "area", opacity: 0.5, orient: "horizontal" },
            encoding: { y: { ...y, field: "value" }, x: { ...x, field: "from" }, x2: { field: "to" }, color } },
          { transform: only("box"), mark: { type: "rule", color: c.ink, opacity: 0.6 },
            encoding: { y: { ...y, field: "low" }, y2: { field: "high" }, x: { ...x, field: "centre" } } },
          { transform: only("box"), mark: { type: "rule", color: c.ink, size: 5, opacity: 0.8 },
            encoding: { y: { ...y, field: "q1" }, y2: { field: "q3" }, x: { ...x, field: "centre" } } },
          { transform: only("box"), mark: { type: "tick", color: c.ink, thickness: 3, size: 22, orient: "horizontal" },
            encoding: { y: { ...y, field: "median" }, x: { ...x, field: "centre" } } },
        ],
      },
      resolve: { scale: { y: options.shared ? "shared" : "independent" } },
    };
  };
}

function palette(c, n) {
  return [c.a, c.b, "#3a9d78", "#b06fc4", "#a58a2a", "#7a8793"].slice(0, Math.max(n, 2));
}
