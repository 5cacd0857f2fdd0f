/* Texts of a matched set side by side, their tokens shaded by the attributions of two methods. */
const sampleId = (dataset, model) => `${dataset}/${model}`;

/** Whether the page has texts that a method explained for a classifier. */
function areExplained(dataset, model, method) {
  return Boolean(data("explanations")?.samples.some((s) => s.dataset === dataset && s.model === model && s.methods.includes(method)));
}

/** Show the texts behind a cell. */
function showExplanations(dataset, model, method, metric) {
  const values = { sample: sampleId(dataset, model), first: method, second: "", metric, search: "" };
  address.put("explanations", Object.fromEntries(Object.entries(values).map(([name, value]) => [`explanations.${name}`, value ? [value] : []])));
  reveal("explanations");
  document.getElementById("explanation-filters").elements.first.focus({ preventScroll: true });
}

sections.explanations = () => {
  const PAGE = 6;
  const form = document.getElementById("explanation-filters");
  const list = document.getElementById("explanations-list");
  const more = document.getElementById("explanations-more");
  const { samples, methods, metrics } = data("explanations");
  const control = form.elements;
  let matching = [];
  let limit = PAGE;
  fill(control.sample, samples.map((s) => [sampleId(s.dataset, s.model), `${s.name}, ${s.model}`]));
  const chosenSample = () => samples[control.sample.selectedIndex];

  /** Offer what the chosen sample has. */
  function choose() {
    const sample = chosenSample();
    const offer = (select, choices) => {
      const before = select.value;
      fill(select, choices);
      if (choices.some(([id]) => id === before)) select.value = before;
    };
    const named = sample.methods.map((id) => [id, methods[id]]);
    offer(control.first, named);
    offer(control.second, [["", "nothing"], ...named]);
    offer(control.metric, sample.metrics.map((id) => [id, metrics[id].name]));
  }

  /** How far the members of a set are apart, or the score itself of a single example. */
  function gap(set, method, metric) {
    const values = set.map((member) => number.value(member.scores[method]?.[metric])).filter(Number.isFinite);
    if (!values.length || values.length < set.length) return null;
    return values.length > 1 ? Math.max(...values) - Math.min(...values) : values[0];
  }

  function update() {
    const sample = chosenSample();
    const [method, metric] = [sample.methods.indexOf(control.first.value), sample.metrics.indexOf(control.metric.value)];
    const words = control.search.value.trim().toLowerCase();
    matching = sample.sets
      .map((set) => ({ set, gap: gap(set, method, metric) }))
      .filter(({ set }) => !words || set.some((m) => `${m.id} ${m.words.join(" ")}`.toLowerCase().includes(words)))
      .sort((a, b) => (b.gap ?? -Infinity) - (a.gap ?? -Infinity));
    limit = PAGE;
    render();
  }

  function render() {
    const sample = chosenSample();
    list.replaceChildren(...matching.slice(0, limit).map((entry) => card(sample, entry)));
    more.hidden = matching.length <= limit;
    document.getElementById("explanations-shown").textContent =
      `${matching.length} of ${sample.sets.length} in the sample`;
  }

  function card(sample, entry) {
    const { set } = entry;
    const chosen = [...new Set([control.first.value, control.second.value])].filter(Boolean).map((id) => sample.methods.indexOf(id));
    const metric = metrics[control.metric.value].name;
    const text = entry.gap === null ? `${metric} is undefined for a member`
      : set.length > 1 ? `${metric} differs by ${number.text(entry.gap)}` : `${metric} ${number.text(entry.gap)}`;
    const scores = make("details", null, make("summary", null, "All scores"));
    scores.addEventListener("toggle", () => {
      scores.append(values(sample, set, chosen));
      scores.querySelectorAll("table").forEach(tables.equip);
    }, { once: true });
    return make("article", { class: "example" },
      make("h3", null, set.map((member) => member.id).join(" · "), make("span", null, `${methods[control.first.value]}: ${text}`)),
      make("div", { class: "members" }, set.map((member) => person(sample, member, chosen))), scores);
  }

  function person(sample, member, chosen) {
    const wrong = member.predicted !== member.label;
    return make("div", { class: "member" },
      make("h4", null, member.group ? `${member.group} ` : "", make("span", null,
        `class ${sample.classes[member.label]}, probability ${number.text(member.probabilities[member.label], 3)}${wrong ? `, predicted ${sample.classes[member.predicted]}` : ""}`)),
      chosen.map((m) => [chosen.length > 1 ? make("p", { class: "method-name" }, methods[sample.methods[m]]) : null, shaded(member, member.attributions[m])]));
  }

  /** Every metric of the chosen methods: a column for each member, and how far they are apart. */
  function values(sample, set, chosen) {
    const score = (value) => (value === null || value === undefined ? "–" : number.text(value));
    const head = chosen.flatMap((m) => {
      const of = (what) => [chosen.length > 1 ? methods[sample.methods[m]] : null, what].filter(Boolean).join(", ");
      return [...set.map((member) => of(member.group || "score")), ...(set.length > 1 ? [of("difference")] : [])];
    });
    const table = makeTable(null, ["Metric", ...head], sample.metrics.map((id, k) => [
      `${metrics[id].name} ${metrics[id].direction === "higher" ? "↑" : "↓"}`,
      ...chosen.flatMap((m) => [...set.map((member) => score(member.scores[m][k])), ...(set.length > 1 ? [score(gap(set, m, k))] : [])]),
    ]));
    return scrollable(`Metrics of ${set.map((member) => member.id).join(" and ")}`, table);
  }

  function shaded(member, attributions) {
    if (!attributions) return make("p", { class: "text absent", dir: "auto" }, `${parts(member).join(" ‖ ")} (not explained: outside the method's sample)`);
    const content = attributions.filter((_, t) => member.word_ids[t] >= 0).map((x) => Math.abs(number.value(x)) || 0);
    const top = Math.max(...content, 0);
    const marked = new Set(member.rationale || []);
    const pieces = new Map();
    member.word_ids.forEach((word, t) => word >= 0 && pieces.set(word, [...(pieces.get(word) || []), t]));
    return make("p", { class: "text", dir: "auto" }, member.words.flatMap((word, w) => {
      const tokens = pieces.get(w) || [];
      const inner = tokens.length > 1 ? spaced(word, tokens.map((t) => plain(member.tokens[t]))).map((piece, i) => [piece.blank, token(member, attributions, tokens[i], top, piece.text)]).flat()
        : tokens.length ? [token(member, attributions, tokens[0], top, word)] : [make("span", { class: "absent", title: "cut off, or part of the word before" }, word)];
      const parted = w === member.second ? [make("span", { class: "absent", title: "the second text" }, "‖"), " "] : [];
      return [...parted, make("span", { class: marked.has(w) ? "word rationale" : "word" }, inner), " "];
    }));
  }

  /** The text, or both texts of a pair. */
  const parts = ({ words, second = words.length }) => [words.slice(0, second), words.slice(second)].filter((part) => part.length).map((part) => part.join(" "));

  /** Pieces of a word, and the blank before each that has one: "French person" is one word. */
  function spaced(word, texts) {
    const whole = word.toLowerCase();
    let end = 0;
    return texts.map((text) => {
      const start = whole.indexOf(text.toLowerCase(), end);
      const blank = start > end && !whole.slice(end, start).trim() ? " " : "";
      if (start >= 0) end = start + text.length;
      return { text, blank };
    });
  }

  function token(member, attributions, t, top, text) {
    const value = number.value(attributions[t]);
    const step = top && Number.isFinite(value) ? Math.round((8 * Math.abs(value)) / top) : 0;
    const side = value > 0 ? " pro" : value < 0 ? " contra" : "";
    return make("span", { class: `token s${step}${side}`, title: `${member.tokens[t]}: ${number.text(value)}` }, text);
  }

  /** A token without the marks that vocabularies put on pieces of words. */
  const plain = (text) => text.replace(/^(##|Ġ|▁)/, "") || text;

  form.addEventListener("change", (event) => {
    if (event.target === control.sample) choose();
    change();
  });
  control.search.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    const before = list.children.length;
    limit += PAGE;
    render();
    const next = list.children[before];
    if (next) { next.tabIndex = -1; next.focus({ preventScroll: true }); }
  });
  function change() {
    update();
    address.keep(form, "explanations");
  }

  function follow() {
    address.take(form, "explanations");
    choose(); // which choices there are depends on the sample
    address.take(form, "explanations");
    update();
  }
  follow();
  return follow;
};
