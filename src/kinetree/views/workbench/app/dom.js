// Elements, numbers as text, markup of the server, and errors beside the control that caused them.

// An element; attributes whose values are functions are listeners, `class` and `text` are meant as such.
function make(tag, attributes = {}, ...content) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("aria-") && value !== null && value !== undefined) {
      found.setAttribute(name, String(value)); // true and false are words there
      continue;
    }
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") found.addEventListener(name, value);
    else if (name === "text") found.textContent = value;
    else found.setAttribute(name, value === true ? "" : value);
  }
  found.append(...content.filter((x) => x !== null && x !== undefined));
  return found;
}

const byId = (id) => document.getElementById(id);
const pageData = () => JSON.parse(byId("data").textContent);
const sum = (values) => values.reduce((total, x) => total + x, 0);
const zeros = (n) => new Array(n).fill(0);
const DEGREE = Math.PI / 180;

// A number that can be typed again, with fixed decimals and without a sign on zero.
function fixedText(x, decimals) {
  const text = x.toFixed(decimals);
  return +text === 0 ? (0).toFixed(decimals) : text;
}

// A number for a narrow column: three digits, and no more than three decimals.
function shortText(x) {
  const text = numberText(x, 3);
  return Math.abs(x) < 0.1 && Math.abs(x) >= 1e-9 ? String(+x.toFixed(3)).replace("-", "−") : text;
}

const vectorText = (v, digits = 4) => `(${v.map((x) => numberText(x, digits)).join(", ")})`;

// The number that a user has typed; a comma may stand for the point. NaN: it is not a number.
function typedNumber(text) {
  const plain = text.trim().replace("−", "-").replace(",", ".").replace(/°$/, "");
  return plain === "" ? NaN : Number(plain);
}

// Markup of the server as nodes: only elements that carry no program, and no attributes but these.
const PLAIN_TAGS = new Set(["p", "div", "span", "h3", "h4", "b", "i", "em", "sub", "sup", "code", "ul", "ol",
  "li", "br", "small", "table", "thead", "tbody", "tr", "th", "td", "caption", "details", "summary"]);
const PLAIN_ATTRIBUTES = new Set(["class", "data-term", "display", "mathvariant", "columnalign", "stretchy",
  "fence", "width", "lspace", "rspace", "accent", "title", "scope", "rowspacing", "columnspacing", "form", "separator", "largeop",
  "accentunder", "height", "depth", "minsize", "maxsize", "displaystyle"]);
const MATHML = "http://www.w3.org/1998/Math/MathML";
function safeMarkup(text) {
  const found = new DOMParser().parseFromString(`<!DOCTYPE html><body>${text}`, "text/html").body;
  for (const node of [...found.querySelectorAll("*")]) {
    if (node.namespaceURI !== MATHML && !PLAIN_TAGS.has(node.localName)) node.remove();
    for (const { name } of [...node.attributes]) if (!PLAIN_ATTRIBUTES.has(name)) node.removeAttribute(name);
  }
  const fragment = document.createDocumentFragment();
  fragment.append(...found.childNodes);
  return fragment;
}

// Show an error below a control until it is closed or `clearError` is called.
function showError(control, text, kind = "error") {
  clearError(control);
  const close = make("button", { type: "button", class: "close", "aria-label": "Close this message", text: "×" });
  const note = make("div", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status" }, make("span", { text }), close);
  close.addEventListener("click", () => clearError(control));
  control.after(note);
  control.noticeShown = note;
  note.scrollIntoView({ block: "nearest" });
}

function clearError(control) {
  if (control.noticeShown) control.noticeShown.remove();
  control.noticeShown = null;
}

// Run a request; its error is shown beside the control, and the control is busy meanwhile.
async function attempt(control, action) {
  clearError(control);
  control.setAttribute("aria-busy", "true");
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    if (!error.ended) showError(control, error.message);
    return null;
  } finally {
    control.removeAttribute("aria-busy");
  }
}

// Buttons of which one is chosen, as in a group of radio buttons; `choose` gets the name.
function segments(label, choices, choose) {
  const group = make("div", { class: "segments", role: "radiogroup", "aria-label": label });
  const buttons = Object.entries(choices).map(([name, text]) =>
    make("button", { type: "button", role: "radio", "data-name": name, text, click: () => choose(name) }));
  group.append(...buttons);
  group.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length];
    next.focus();
    choose(next.dataset.name);
  });
  group.select = (name) => buttons.forEach((button) => {
    const chosen = button.dataset.name === name;
    button.setAttribute("aria-checked", chosen);
    button.tabIndex = chosen ? 0 : -1;
  });
  return group;
}

// A slider with its name, and a box to type into; `set` gets the number. `least`: the smallest one.
function sliderRow(words, unitName, set, { least = -Infinity, ...attributes } = {}) {
  const label = `${words} in ${unitName}`;
  const range = make("input", { type: "range", step: "any", "aria-label": label, ...attributes });
  const box = make("input", { type: "text", class: "typed", inputmode: "decimal", autocomplete: "off", "aria-label": label });
  const node = make("div", { class: "slider-row" }, make("span", { class: "name", text: words }), range, box, make("span", { class: "unit", text: ` ${unitName}` }));
  range.addEventListener("input", () => set(+range.value));
  box.addEventListener("change", () => {
    const x = typedNumber(box.value);
    if (!(Number.isFinite(x) && x >= least)) showError(node, `“${box.value}” is not a number${least === 0 ? " from 0 on" : ""}; expected ${label}.`);
    else { clearError(node); set(x); }
  });
  const show = (x, low, high) => {
    [range.min, range.max] = [Math.min(low, x), Math.max(high, x)];
    range.value = x;
    if (document.activeElement !== box) box.value = String(+x.toPrecision(4));
  };
  return { node, show };
}

// A checkbox with its words.
function checkbox(text, on, change, attributes = {}) {
  const input = make("input", { type: "checkbox", ...attributes, change: () => change(input.checked) });
  input.checked = on;
  const label = make("label", { class: "check" }, input, make("span", { text }));
  label.input = input;
  return label;
}

// The colour of a CSS variable, red, green and blue from 0 to 255.
function cssColour(name) {
  const probe = byId("probe");
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
}

function download(name, content) {
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
