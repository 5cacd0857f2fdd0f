/* Everything above has defined itself; now the page becomes interactive. */
for (const node of document.querySelectorAll(".needs-script")) node.hidden = false;

const followers = new Map();

/** Call what makes a section interactive; where it fails, say so there and leave the others as they are. */
function attempt(section, call) {
  try {
    return call?.();
  } catch (error) {
    console.error(error);
    const note = make("p", { class: "callout", role: "alert" }, `This section does not work in this browser: ${error}`);
    section.append(note);
    return null;
  }
}

/** Make a section interactive, unless it is. */
function begin(section) {
  if (followers.has(section.id)) return;
  followers.set(section.id, null);
  followers.set(section.id, attempt(section, sections[section.id]));
  section.querySelectorAll("table:not(.tiles)").forEach(tables.equip);
}

const contents = document.querySelector(".contents > details");
contents.addEventListener("click", (event) => {
  if (event.target.closest("a")) contents.open = false;
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const place = document.getElementById(button.dataset.copy);
    getSelection().selectAllChildren(place);
    await navigator.clipboard.writeText(place.textContent);
    button.textContent = "Copied";
  });
}

/** Open a section, show what the address says of it, and go there. */
function reveal(id) {
  const section = document.getElementById(id);
  if (!section?.matches("main > section")) return;
  const fold = section.querySelector(":scope > .fold");
  if (fold) fold.open = true;
  if (followers.has(id)) attempt(section, followers.get(id));
  else begin(section);
  section.scrollIntoView();
}

const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.hash.slice(1), a]));
const inView = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      const link = links.get(target.id);
      if (!isIntersecting || !link) continue;
      links.forEach((other) => other.removeAttribute("aria-current"));
      link.setAttribute("aria-current", "location");
    }
  },
  { rootMargin: "-10% 0px -80%" },
);
for (const section of document.querySelectorAll("main > section")) inView.observe(section);
/** Say how far the edges of a place fade beyond which it scrolls. */
function fade(place) {
  const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = place;
  const far = (rest) => (rest > 1 ? "2rem" : "0px");
  place.style.setProperty("--left", far(scrollLeft));
  place.style.setProperty("--right", far(scrollWidth - clientWidth - scrollLeft));
  place.style.setProperty("--below", far(scrollHeight - clientHeight - scrollTop));
}
const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => fade(target.closest(".scroll"))));
new MutationObserver(() => watch()).observe(document.body, { childList: true, subtree: true });
function watch() {
  for (const place of document.querySelectorAll(".scroll:not([data-fades])")) {
    place.dataset.fades = "";
    place.addEventListener("scroll", () => fade(place), { passive: true });
    resized.observe(place);
    if (place.firstElementChild) resized.observe(place.firstElementChild);
  }
}
watch();

/** Make the page interactive once its data are there. */
async function start() {
  await data.unpacked;
  for (const section of document.querySelectorAll("main > section")) {
    const fold = section.querySelector(":scope > .fold");
    if (!fold || fold.open) begin(section);
    else fold.addEventListener("toggle", () => begin(section), { once: true });
  }
  if (location.hash) reveal(address.read());
  addEventListener("hashchange", () => {
    const id = address.read();
    reveal(id);
    if (followers.has(id)) address.put(id, {});
  });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((d) => { d.open = true; });
    document.querySelectorAll("main > section").forEach(begin);
  });
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}
start().catch(failed);
