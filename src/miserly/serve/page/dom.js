// Elements are built from text only, so the name of a plan or a feature cannot become markup.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return node;
}

export function show(parent, ...children) {
  parent.replaceChildren(...children.flat(2).filter(Boolean));
}

// A bar from one share to another, both between 0 and 1. It is decoration: the text beside it has the numbers.
export function bar(kind, ...spans) {
  const track = el("span", { class: `bar ${kind}`, "aria-hidden": "true" });
  for (const { from = 0, to, name = "fill" } of spans) {
    const part = el("span", { class: name });
    part.style.left = `${100 * Math.min(Math.max(from, 0), 1)}%`;
    part.style.width = `${100 * Math.min(Math.max(to - from, 0), 1 - from)}%`;
    track.append(part);
  }
  return track;
}

// Announces a text to users of screen readers.
export function announce(text) {
  document.getElementById("live").textContent = text;
}

const opened = new Set(); // sections that stay open from one question to the next

// A collapsible section. `fill` is called when it is first opened.
export function section(title, fill) {
  const body = el("div", { class: "inside" });
  const node = el("details", { open: opened.has(title) }, el("summary", {}, title), body);
  let filled = false;
  const fillOnce = () => {
    if (node.open) opened.add(title);
    else opened.delete(title);
    if (!filled && node.open) {
      filled = true;
      show(body, fill());
    }
  };
  node.addEventListener("toggle", () => node.isConnected && fillOnce());
  if (node.open) fillOnce();
  return node;
}
