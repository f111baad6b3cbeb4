// What the page has beside its HTML. Everything works without it.
"use strict";

// A button behind each command line copies it.
function dress(root) {
  if (!navigator.clipboard) return; // only on https and localhost
  for (const cli of root.querySelectorAll(".cli")) addCopy(cli);
}

function addCopy(cli) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the command line");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(cli.querySelector("code").textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Cannot copy";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  cli.append(button);
}

// A page that shows what is now is loaded again when the server says that something has
// changed: not while somebody reads or works in it, not while it is paused, and not in a
// hidden tab. The server makes all of it; what is new in a list is marked.
const main = document.getElementById("main");
const foot = document.querySelector("footer");
const state = document.createElement("span");
const pause = document.createElement("button");
let source, loading, again, later, paused;

function busy() {
  const at = document.activeElement, first = main.querySelector("[data-key]");
  return main.querySelector("details[open]") || at && main.contains(at) && at.matches("input, textarea, select")
    || String(getSelection()) !== "" || first && first.getBoundingClientRect().top < 0 // scrolled down to older rows
    || [...main.querySelectorAll("input:not([type=hidden]), textarea")].some((f) => f.value !== f.defaultValue)
    || [...main.querySelectorAll("select")].some((s) => s.selectedIndex !== Math.max(0, [...s.options].findIndex((o) => o.defaultSelected)));
}

// where finds the focus after the content was replaced.
function where(at) {
  if (!at || !main.contains(at)) return null;
  const same = (root) => [...root.querySelectorAll(at.tagName)].filter((e) => e.textContent === at.textContent && e.getAttribute("href") === at.getAttribute("href"));
  const n = same(main).indexOf(at);
  return () => same(main)[n]?.focus({ preventScroll: true });
}

function replace(page) {
  const back = where(document.activeElement);
  const known = new Set([...main.querySelectorAll("[data-key]")].map((row) => row.dataset.key));
  main.replaceChildren(...page.getElementById("main").childNodes);
  foot.replaceChildren(...page.querySelector("footer").childNodes);
  for (const row of main.querySelectorAll("[data-key]")) if (!known.has(row.dataset.key)) row.classList.add("new");
  dress(main);
  if (back) back();
}

async function load() {
  clearTimeout(later);
  if (loading) { again = true; return; }
  if (document.hidden || paused) return;
  if (busy()) return hold();
  loading = true;
  const began = performance.now();
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok || !page.getElementById("main") || paused) return;
    if (busy()) return hold();
    replace(page);
    say("Live");
  } catch { // the server has gone; the source tries again
  } finally {
    setTimeout(() => { // a page that takes long is loaded less often
      loading = false;
      if (again) { again = false; load(); }
    }, Math.min(5000, 9 * (performance.now() - began)));
  }
}

// hold tries it again until nobody is busy any more.
function hold() {
  say("Held");
  later = setTimeout(load, 1000);
}

function say(word) {
  state.textContent = word;
  state.className = word.toLowerCase();
}

function listen() {
  if (document.hidden || paused) {
    clearTimeout(later);
    source?.close();
    source = null;
    if (paused) say("Frozen");
  } else if (!source) {
    source = new EventSource(main.dataset.live);
    source.addEventListener("open", load); // what has changed since the page was made
    source.addEventListener("change", load);
    source.addEventListener("error", () => {
      say("Offline");
      if (source?.readyState !== EventSource.CLOSED) return; // it tries again
      source = null;
      setTimeout(listen, 10000);
    });
  }
}

function press() {
  paused = pause.getAttribute("aria-pressed") === "false";
  pause.setAttribute("aria-pressed", paused);
  listen();
}

dress(document);
if (main.dataset.live && window.EventSource) {
  pause.type = "button";
  pause.textContent = "Freeze";
  pause.setAttribute("aria-label", "Freeze this page: no updates");
  pause.setAttribute("aria-pressed", "false");
  pause.addEventListener("click", press);
  document.querySelector(".updates").prepend(state, pause);
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => { source?.close(); source = null; });
  addEventListener("pageshow", listen);
  listen();
}
