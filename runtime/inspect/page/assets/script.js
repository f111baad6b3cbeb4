// What the page has beside its HTML. Everything works without it.
"use strict";

// A button behind each command line copies it.
for (const cli of document.querySelectorAll(".cli")) {
  if (!navigator.clipboard) break; // only on https and localhost
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
