// Elements of the page, and how it writes numbers.

export function element(name, text = "", kind = "") {
  const made = document.createElement(name);
  if (text !== "") made.textContent = text;
  if (kind !== "") made.className = kind;
  return made;
}

export function header(text, scope) {
  const made = element("th", text);
  Object.assign(made, { scope, title: text });
  return made;
}

export function count(number) { return number.toLocaleString("en"); }
