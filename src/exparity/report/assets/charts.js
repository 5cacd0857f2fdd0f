/* Plots. Their shapes are drawn where the page is made (report/svg.py); here they become elements. */
const charts = (() => {
  const element = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };

  /** A drawing as SVG; `more` are shapes to lie on it. Words beside it say what it shows. */
  function svg([width, height, shapes, words], more = []) {
    const root = element("svg", { class: "plot", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    root.append(
      ...[...shapes, ...more].map(([style, d]) => element("path", { class: style, d })),
      ...words.map(([style, x, y, text]) => element("text", { class: style, x, y }, text)),
    );
    return root;
  }

  /** What the colours of groups mean. */
  function key(groups) {
    return make("ul", { class: "key" }, groups.map((name, g) =>
      make("li", null, make("span", { class: `swatch group-${g + 1}` }), name)));
  }

  /** Panels side by side, as many a line as fit: [{label, axis, shapes}]. */
  function panels(list, groups, unit) {
    return [
      groups.length > 1 ? key(groups) : null,
      make("div", { class: "panels" }, list.map(({ label, axis, shapes }) =>
        make("div", null, make("span", { class: "panel-name" }, label), svg(axis, shapes)))),
      make("p", { class: "unit" }, unit),
    ].filter(Boolean);
  }
  return { svg, panels };
})();
