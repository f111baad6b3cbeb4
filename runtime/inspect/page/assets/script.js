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
// changed, but not while somebody works in it, and not in a hidden tab.
const main = document.getElementById("main");
const foot = document.querySelector("footer");
let source, loading, again;

function busy() {
  const at = document.activeElement;
  return main.querySelector("details[open]") || at && main.contains(at) && at.matches("input, textarea, select")
    || String(getSelection()) !== "" || [...main.querySelectorAll("input[type=text], textarea")].some((f) => f.value !== f.defaultValue);
}

// where finds the focus after the content was replaced.
function where(at) {
  if (!at || !main.contains(at)) return null;
  const same = (root) => [...root.querySelectorAll(at.tagName)].filter((e) => e.textContent === at.textContent && e.getAttribute("href") === at.getAttribute("href"));
  const n = same(main).indexOf(at);
  return () => same(main)[n]?.focus({ preventScroll: true });
}

async function load() {
  if (loading) { again = true; return; }
  if (document.hidden || busy()) return;
  loading = true;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = page.getElementById("main");
    if (!next || busy()) return;
    const back = where(document.activeElement);
    main.replaceChildren(...next.childNodes);
    foot.replaceChildren(...page.querySelector("footer").childNodes);
    dress(main);
    if (back) back();
  } catch { // the server has gone; the source tries again
  } finally {
    loading = false;
    if (again) { again = false; load(); }
  }
}

function listen() {
  if (document.hidden) {
    source?.close();
    source = null;
  } else if (!source) {
    source = new EventSource(main.dataset.live);
    source.addEventListener("change", load);
  }
}

dress(document);
if (main.dataset.live && window.EventSource) {
  document.addEventListener("visibilitychange", () => { listen(); load(); });
  addEventListener("pagehide", () => { source?.close(); source = null; });
  addEventListener("pageshow", listen);
  listen();
}
