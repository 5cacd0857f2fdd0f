/* Everything above has defined itself; now the page becomes interactive. */
for (const node of document.querySelectorAll(".needs-script")) node.hidden = false;
theme.start();
for (const section of sections) section();

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
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
document.documentElement.dataset.ready = String(Math.round(performance.now()));
