// Numbers, prices and answers as people read them.

// A price: whole, or with two decimals; small prices keep two significant digits.
export function amount(value, unit = "") {
  if (value === null || value === undefined) return "no limit";
  let least = Math.abs(value - Math.round(value)) < 0.005 ? 0 : 2, most = least;
  if (value !== 0 && Math.abs(value) < 0.1) [least, most] = [0, Math.min(1 - Math.floor(Math.log10(Math.abs(value))), 12)];
  const text = value.toLocaleString("en", { minimumFractionDigits: least, maximumFractionDigits: most });
  return unit ? `${text}\u00a0${unit}` : text;
}

// Prices of one column: all with decimals if one of them has some.
export function amounts(values) {
  const whole = values.every((one) => amount(one) === amount(Math.round(one)));
  return (value) => (whole || (value !== 0 && value < 0.1) ? amount(value) : value.toFixed(2));
}

export function percent(share) {
  return `${(100 * share).toFixed(1)}\u00a0%`;
}

export function number(value) {
  if (typeof value !== "number") return String(value);
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 12, useGrouping: false });
}

export function list(items, word = "and") {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} ${word} ${items[items.length - 1]}`;
}

export function count(n, noun) {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

// Booleans without labels are shown as Yes and No.
export function choiceLabel({ value, label }) {
  const bare = typeof value === "boolean" && label.toLowerCase() === String(value);
  return bare ? (value ? "Yes" : "No") : label;
}

// Names for people. `model` is the description from the server; it may be missing.
export class Names {
  constructor(model) {
    this.classes = new Map(Object.entries(model?.class_names ?? {}));
    this.features = new Map((model?.features ?? []).map((one) => [one.name, one]));
    this.mostPaid = model?.max_cost ?? 0;
  }

  answer(value) {
    if (value === null || value === undefined) return "not a number";
    const text = String(value);
    return this.classes.get(text) ?? (typeof value === "number" ? number(value) : text);
  }

  feature(name) {
    return this.features.get(String(name))?.label ?? String(name);
  }

  value(name, value) {
    if (value === null || value === undefined) return "no value";
    const known = this.features.get(String(name));
    const choice = known?.choices.find((one) => one.value === value);
    if (choice) return choiceLabel(choice);
    const text = typeof value === "boolean" ? (value ? "Yes" : "No") : number(value);
    return known?.unit ? `${text}\u00a0${known.unit}` : text;
  }
}

// The classes of an answer, most probable first if there are many: [{name, share, chosen}].
export function shares(answer, names, most = 6) {
  if (!answer?.probabilities) return [];
  const all = Object.entries(answer.probabilities).map(([label, share]) => (
    { name: names.answer(label), share, chosen: label === String(answer.value) }
  ));
  if (all.length <= most) return all;
  return all.sort((a, b) => b.share - a.share).slice(0, most);
}

// An answer in one line: "Heart disease (63.2 %)".
export function inOneLine(answer, names) {
  const share = answer.probabilities?.[String(answer.value)];
  return names.answer(answer.value) + (share === undefined ? "" : ` (${percent(share)})`);
}

export function cap(session) {
  return session.budget === null || session.budget === undefined ? null : session.budget;
}

export function paidText(session) {
  const limit = cap(session);
  return limit === null
    ? `${amount(session.cost, session.unit)} paid`
    : `${amount(session.cost)} of ${amount(limit, session.unit)} paid`;
}

// On this page a row is called a case.
export function aboutCases(text) {
  return text.replace(/\b(no|a|the|every|each) row\b/gi, "$1 case").replace(/\brows\b/g, "cases");
}

// With a capital letter and a full stop.
export function sentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
