// Before the first question: the models, one model with its budget, the API key.

import { el, section } from "./dom.js";
import { aboutCases, amount, amounts, count, list, number, percent, sentence } from "./words.js";

export function modelsScreen(models) {
  const cards = models.map((one) => el("li", {},
    el("a", { class: "card choice", href: `#/m/${encodeURIComponent(one.name)}` },
      el("strong", {}, one.title || one.name),
      one.about && el("span", { class: "quiet" }, one.about),
      el("span", { class: "small" }, `Up to ${count(one.n_features, "question")}, at most ${amount(one.max_cost, one.unit)}.`))));
  return [
    el("h1", { tabindex: "-1" }, "Which question do you have?"),
    models.length
      ? el("ul", { class: "plain stack" }, cards)
      : el("p", {}, "This server has no model yet."),
  ];
}

export function startScreen(model, begin) {
  const error = el("p", { class: "error", id: "budget-error", role: "alert" });
  const input = el("input", {
    id: "budget", name: "budget", inputmode: "decimal", autocomplete: "off",
    "aria-describedby": "budget-hint budget-error",
  });
  const submit = (event) => {
    event.preventDefault();
    const budget = readAmount(input.value);
    if (budget === undefined) {
      error.textContent = "Enter a number of at least 0, or leave the field empty.";
      input.setAttribute("aria-invalid", "true");
      input.focus();
    } else begin(budget);
  };
  const classes = Object.values(model.class_names ?? {});
  return [
    el("h1", { tabindex: "-1" }, model.title || model.name),
    model.about && el("p", { class: "lead" }, model.about),
    el("p", {},
      `The plan asks one question at a time, and only the questions that it needs: up to ${count(model.n_features, "question")}, `,
      `for at most ${amount(model.max_cost, model.unit)}. You can stop at any time with the answer so far.`),
    classes.length > 0 && classes.length <= 6 && el("p", {}, `Possible answers: ${list(classes)}.`),
    model.problem && el("p", { class: "note" }, sentence(model.problem)),
    el("form", { class: "card", submit, novalidate: true },
      el("label", { for: "budget" }, "Budget for this case", model.unit && ` (${model.unit})`, el("span", { class: "quiet" }, ", optional")),
      el("p", { class: "hint", id: "budget-hint" }, "The total cost never exceeds the budget. Leave the field empty for no limit."),
      el("div", { class: "row" }, input, el("button", { class: "primary" }, "Start")),
      error),
    questionTable(model),
    budgetTable(model),
    model.guarantees?.length > 0 && el("section", {},
      el("h2", {}, "What is guaranteed"),
      el("ul", {}, model.guarantees.map((one) => el("li", {}, sentence(aboutCases(one)))))),
  ];
}

function questionTable(model) {
  if (!model.features?.length) return null;
  const setups = new Map((model.groups ?? []).map((one) => [one.name, one.setup]));
  const price = (one) => amount(one.price, model.unit)
    + (one.groups ?? []).map((group) => ` + ${amount(setups.get(group))} once for ${group}`).join("");
  return el("div", { class: "card folds" }, section("Possible questions and their prices", () => el("ul", { class: "plain prices" },
    model.features.map((one) => el("li", {}, el("span", {}, one.label), el("span", { class: "right" }, price(one)))))));
}

function budgetTable(model) {
  if (!model.budgets?.length) return null;
  const metric = String(model.budgets[0].metric ?? "value");
  const reached = ({ value, error }) => {
    if (typeof value !== "number") return "–";
    const [text, spread] = metric === "accuracy" ? [percent(value), (100 * error).toFixed(1)] : [number(value), number(error ?? 0)];
    return error > 0 ? `${text}\u00a0±\u00a0${spread}` : text;
  };
  const price = amounts(model.budgets.flatMap((one) => [one.budget ?? one.mean_budget, one.mean_cost ?? 0]));
  const rows = model.budgets.map((one) => el("tr", {},
    el("td", {}, price(one.budget ?? one.mean_budget), one.budget === undefined && " on average"),
    el("td", { class: "right" }, reached(one)),
    el("td", { class: "right" }, typeof one.mean_cost === "number" ? price(one.mean_cost) : "–")));
  const head = (text, kind) => el("th", { scope: "col", class: kind }, text);
  const unit = model.unit ? ` (${model.unit})` : "";
  const source = model.budgets[0].rows;
  return el("div", { class: "card folds" }, section("What a budget buys", () => [
    el("table", {}, el("thead", {}, el("tr", {}, head(`Budget${unit}`), head(sentence(metric).slice(0, -1), "right"), head("Paid on average", "right"))),
      el("tbody", {}, rows)),
    metric === "accuracy" && el("p", { class: "small" }, "Accuracy is the share of cases with the right answer."),
    source && el("p", { class: "small" }, `Estimated from ${aboutCases(source)}.`)]));
}

// A number; null if the field is empty, undefined if the text is not a price.
export function readAmount(text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const value = Number(trimmed);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

export function keyScreen(refused, submitKey) {
  const input = el("input", { id: "key", type: "password", autocomplete: "current-password", required: true, "aria-describedby": "key-hint" });
  const submit = (event) => {
    event.preventDefault();
    if (input.value.trim()) submitKey(input.value.trim());
    else input.focus();
  };
  return [
    el("h1", { tabindex: "-1" }, "An API key is needed"),
    refused && el("p", { class: "error", role: "alert" }, "The server does not know this key."),
    el("form", { class: "card", submit },
      el("label", { for: "key" }, "API key"),
      el("p", { class: "hint", id: "key-hint" }, "Ask the administrator of this server for a key. This page keeps the key until the tab is closed."),
      el("div", { class: "row" }, input, el("button", { class: "primary" }, "Continue"))),
  ];
}

export function endScreen(title, text, ...actions) {
  return [el("h1", { tabindex: "-1" }, title), el("p", {}, text), el("div", { class: "row" }, actions)];
}
