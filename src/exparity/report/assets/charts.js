/* Plots. Their shapes are drawn where the page is made (report/svg.py); here they become elements. */
const charts = (() => {
  const element = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };

  /** Draw into a frame; `more` are shapes to lie on the drawing. */
  function draw(frame, [, , shapes, words], more = []) {
    frame.replaceChildren(
      ...[...shapes, ...more].map(([style, d]) => element("path", { class: style, d })),
      ...words.map(([style, x, y, text]) => element("text", { class: style, x, y }, text)),
    );
    return frame;
  }

  /** A drawing as SVG. Words beside it say what it shows. */
  function svg(drawing, more) {
    const [width, height] = drawing;
    return draw(element("svg", { class: "plot", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }), drawing, more);
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
  return { draw, svg, panels };
})();
