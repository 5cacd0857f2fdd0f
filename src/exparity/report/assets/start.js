/* Everything above has defined itself; now the page becomes interactive. */
for (const node of document.querySelectorAll(".needs-script")) node.hidden = false;
theme.start();

const followers = new Map();

/** Make a section interactive, unless it is. */
function begin(section) {
  if (followers.has(section.id)) return;
  followers.set(section.id, null);
  followers.set(section.id, sections[section.id]?.());
  section.querySelectorAll("table:not(.tiles)").forEach(tables.equip);
}

/** Open a section, show what the address says of it, and go there. */
function reveal(id) {
  const section = document.getElementById(id);
  if (!section?.matches("main > section")) return;
  const fold = section.querySelector(":scope > .fold");
  if (fold) fold.open = true;
  if (followers.has(id)) followers.get(id)?.();
  else begin(section);
  section.scrollIntoView();
}

for (const section of document.querySelectorAll("main > section")) {
  const fold = section.querySelector(":scope > .fold");
  if (!fold) begin(section);
  else fold.addEventListener("toggle", () => begin(section), { once: true });
}
if (location.hash) reveal(address.read());
addEventListener("hashchange", () => {
  const id = address.read();
  reveal(id);
  if (followers.has(id)) address.put(id, {});
});

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
addEventListener("beforeprint", () => {
  document.querySelectorAll("main > section").forEach(begin);
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
});
document.documentElement.dataset.ready = String(Math.round(performance.now()));
