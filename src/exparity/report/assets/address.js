/* The address holds what is chosen, `#section?section.control=value&cell=…`, so that a link shows it. */
const address = (() => {
  let section, chosen;

  function read() {
    const [id, query] = location.hash.slice(1).split(/\?(.*)/s);
    section = id;
    // A link of the contents names a section alone, and changes no choice.
    if (query !== undefined || !chosen) chosen = new URLSearchParams(query);
    return section;
  }

  /** Put values under names, lists of text; an empty one takes the name out. */
  function put(id, values) {
    section = id;
    for (const [name, list] of Object.entries(values)) {
      chosen.delete(name);
      for (const value of list) chosen.append(name, value);
    }
    try {
      history.replaceState(null, "", `#${section}${chosen.size ? `?${chosen}` : ""}`);
    } catch {
      // Some frames forbid it; then the address stays as it was.
    }
  }

  const controls = (form) => [...form.elements].filter((control) => control.name);

  /** Set the controls of a form as the address says, else as they are at first. */
  function take(form, id) {
    for (const control of controls(form)) {
      const value = chosen.get(`${id}.${control.name}`);
      if (control.type === "radio") {
        const known = [...form.elements[control.name]].some((choice) => choice.value === value);
        control.checked = known ? control.value === value : control.defaultChecked;
      } else if (control.type === "search") control.value = value ?? "";
      else control.selectedIndex = Math.max(0, [...control.options].findIndex((option) => option.value === value));
    }
  }

  /** Write into the address what is chosen in a form and is not so at first. */
  function keep(form, id) {
    const values = {};
    for (const control of controls(form)) {
      if (control.type === "radio" && !control.checked) continue;
      const first = { radio: control.defaultChecked, search: !control.value }[control.type] ?? control.selectedIndex <= 0;
      values[`${id}.${control.name}`] = first ? [] : [control.value];
    }
    put(id, values);
  }

  read();
  return { read, put, take, keep, all: (name) => chosen.getAll(name) };
})();
