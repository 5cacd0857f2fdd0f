"use strict";
/* What every section's script uses: data, elements, numbers. Text from data only ever becomes text
   nodes and attribute values, never markup. */

/** By the id of a section: a function that makes it interactive, called when readers first see it. What
    it returns is called when the address has changed. */
const sections = {};

/** `data(id)` is the data of a section, null without any; all are there once `data.unpacked` is fulfilled. */
const data = (() => {
  const parsed = {};
  async function unpack(node) {
    parsed[node.dataset.section] = await unpacked(node).json();
  }
  const read = (id) => parsed[id] ?? null;
  read.unpacked = Promise.all([...document.querySelectorAll("script[data-section]")].map(unpack));
  return read;
})();

/** Make an element; children that are no nodes become text. */
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const number = {
  /** A number as JSON holds it: infinity is text, undefined is null. */
  value: (x) => (x === "inf" ? Infinity : x === "-inf" ? -Infinity : x),
  text(x, digits = 4) {
    const value = number.value(x);
    if (value === null || value === undefined) return "undefined";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (value === 0) return "0";
    const size = Math.abs(value);
    const shown = size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 1) : String(+value.toPrecision(digits));
    return shown.replace(/-/g, "−");
  },
  /** The numbers of one column, all with as many decimals as the largest has room for. */
  alike(column, digits = 4) {
    const largest = Math.max(0, ...column.map(number.value).filter(Number.isFinite).map(Math.abs));
    if (largest >= 1e6 || largest < 1e-3) return column.map((x) => number.text(x, digits));
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(largest)));
    const fixed = (x) => number.value(x).toFixed(decimals).replace("-", "−");
    return column.map((x) => (Number.isFinite(number.value(x)) ? fixed(x) : number.text(x)));
  },
  signed(x, digits = 2) {
    const value = number.value(x);
    if (value === null || value === undefined) return "undefined";
    if (!Number.isFinite(value)) return value > 0 ? "+∞" : "−∞";
    return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
  },
};

function fill(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => make("option", { value }, text)));
}

/** A table from a head and rows of text; numbers are aligned right. */
function makeTable(caption, head, rows, texts = 1) {
  const align = (i) => ({ class: i >= texts ? "r" : null });
  return make(
    "table",
    { class: "plain" },
    caption ? make("caption", null, caption) : null,
    make("thead", null, make("tr", null, head.map((h, i) => make("th", { scope: "col", ...align(i) }, h)))),
    make(
      "tbody",
      null,
      rows.map((row) =>
        make("tr", null, row.map((cell, i) => make(i ? "td" : "th", i ? align(i) : { scope: "row" }, cell))),
      ),
    ),
  );
}

function scrollable(label, node) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, node);
}
