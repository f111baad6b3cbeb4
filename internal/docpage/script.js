"use strict";
// The theme is set before the page is drawn; without a choice it is the system's.
const themes = ["light", "dark"];
try { setTheme(localStorage.getItem("busgen-theme")); } catch { /* storage is off */ }

function setTheme(theme) {
  if (themes.includes(theme)) document.documentElement.dataset.theme = theme;
}

document.addEventListener("DOMContentLoaded", () => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = dark === "dark" ? "light" : "dark";
    setTheme(next);
    try { localStorage.setItem("busgen-theme", next); } catch { /* it lasts until the page is closed */ }
  });

  // On a narrow screen the contents would push everything else away.
  const contents = document.getElementById("contents");
  const narrow = matchMedia("(max-width: 60rem)");
  const fold = () => { contents.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  contents.addEventListener("click", (e) => { if (narrow.matches && e.target.closest("li")) contents.open = false; });

  // Every word must be somewhere in an entry.
  const search = document.getElementById("search");
  const entries = all(".entry").map((node) => ({ node, text: node.textContent.toLowerCase() }));
  const links = new Map(all("[data-for]").map((node) => [node.dataset.for, node]));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { node, text } of entries) {
      const match = words.every((word) => text.includes(word));
      node.hidden = links.get(node.id).hidden = !match;
      if (match) shown++;
    }
    for (const group of all("[data-group]")) group.hidden = !all(".entry, [data-for]", group).some((node) => !node.hidden);
    for (const whole of all("[data-whole]")) whole.hidden = words.length > 0;
    document.getElementById("nothing").hidden = shown > 0;
  };
  search.addEventListener("input", filter);
  filter(); // a reload may keep the text
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement !== search) { e.preventDefault(); search.focus(); search.select(); }
    if (e.key === "Escape" && document.activeElement === search) { search.value = ""; filter(); search.blur(); }
  });
  // A link to an entry that the search has hidden shows everything again.
  addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.closest("[hidden]")) { search.value = ""; filter(); target.scrollIntoView(); }
  });

  if (navigator.clipboard) {
    for (const copy of all(".copy")) {
      copy.hidden = false;
      copy.addEventListener("click", async () => {
        await navigator.clipboard.writeText(copy.nextElementSibling.textContent);
        copy.textContent = "Copied";
        setTimeout(() => { copy.textContent = "Copy"; }, 1500);
      });
    }
  }

  // Paper shows everything.
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open])"); closed.forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));
});
