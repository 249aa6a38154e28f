// A button on every block of code that copies its text.
for (const block of document.querySelectorAll("div.highlight-python, div.highlight-console, div.highlight-default, div.highlight-xml")) {
  const code = block.querySelector("pre");
  if (!code || !navigator.clipboard) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.setAttribute("aria-label", "copy this code");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent.replace(/^\$ /gm, ""));
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  });
  block.append(button);
}
