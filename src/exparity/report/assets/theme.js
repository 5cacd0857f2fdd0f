"use strict";
/* Light, dark, or as the system says; remembered where the browser lets a local file remember. */
const theme = (() => {
  const listeners = [];
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("exparity-theme") || "auto";
  } catch {
    // Storage can be switched off; then the choice lasts as long as the page.
  }
  const apply = () => {
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    listeners.forEach((listener) => listener());
  };
  const start = () => {
    for (const input of document.querySelectorAll("input[name=theme]")) {
      input.checked = input.value === chosen;
      input.addEventListener("change", () => {
        chosen = input.value;
        try {
          localStorage.setItem("exparity-theme", chosen);
        } catch {
          // as above
        }
        apply();
      });
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
  return { start, onChange: (listener) => listeners.push(listener) };
})();
