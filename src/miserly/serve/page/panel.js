// Beside the question: the answer so far, what was paid, and what could happen next.

import { bar, el, section, show } from "./dom.js";
import { readAmount } from "./start.js";
import { amount, cap, count, inOneLine, list, number, paidText, percent, shares } from "./words.js";

// The answer as a list of classes with their probabilities, or as a number.
export function answerView(answer, names) {
  const rows = shares(answer, names);
  if (!rows.length) return el("p", { class: "figure" }, names.answer(answer.value));
  const others = Object.keys(answer.probabilities).length - rows.length;
  return el("ul", { class: "plain shares" }, rows.map((one) => el("li", { class: one.chosen ? "chosen" : null },
    el("span", {}, one.name), el("span", { class: "right" }, percent(one.share)), bar("share", { to: one.share }))),
    others > 0 && el("li", { class: "small" }, `and ${others} less probable`));
}

// What was paid, what this question would add, and the cap (or the most that can be paid).
export function paidView(session) {
  const limit = cap(session), question = session.question;
  const most = session.cost + (question?.most ?? 0);
  const whole = Math.max(limit ?? most, session.cost) || 1;
  const next = session.cost + (question?.price ?? 0);
  return el("div", { class: "paid" },
    el("p", {}, paidText(session), limit === null && question ? `; at most ${amount(most, session.unit)} in all` : ""),
    bar("money", { from: session.cost / whole, to: next / whole, name: "ghost" }, { to: session.cost / whole }));
}

// Answer and price in two lines, above the question on a phone. The panel below shows the same in words.
export function strip(session, names) {
  const share = session.answer.probabilities?.[String(session.answer.value)];
  return el("div", { class: "card strip", "aria-hidden": "true" },
    el("strong", {}, names.answer(session.answer.value)),
    share !== undefined && el("strong", {}, percent(share)),
    share !== undefined && bar("share", { to: share }),
    el("span", { class: "small" }, paidText(session)));
}

export function sidePanel(session, names, does) {
  return el("section", { class: "side", "aria-label": "The answer so far" },
    el("section", { class: "card" },
      el("h2", {}, "Answer so far"),
      answerView(session.answer, names),
      paidView(session)),
    el("div", { class: "card folds" },
      section("What if I stop now?", () => stopNow(session, names, does)),
      section("Why this question?", () => whyThis(session, names)),
      section("What would more money buy?", () => moreMoney(session, names, does)),
      section("Change the budget", () => changeBudget(session, names, does))));
}

function stopNow(session, names, does) {
  return [
    el("p", {}, "The answer would be ", el("strong", {}, inOneLine(session.answer, names)),
      `, for ${amount(session.cost, session.unit)}. Nothing more would be asked or paid.`),
    el("button", { type: "button", id: "stop", click: does.stop }, "Stop with this answer"),
  ];
}

// -- how the answer could change -----------------------------------------------------------------------------

function whyThis(session, names) {
  const { feature, outlook, answers, why, certain, possible, most } = session.question;
  const later = [...certain, ...possible].map((one) => names.feature(one));
  return [
    outlook?.length > 0 && [
      el("p", {}, howItCouldChange(session, names)),
      answers?.length > 0 ? eachAnswer(feature, answers, names) : ranges(outlook, session.answer, names)],
    later.length > 0
      ? el("p", {}, certain.length > 0 && `Next: ${list(certain.map((one) => names.feature(one)))}. `,
        possible.length > 0 && `Perhaps also: ${list(possible.map((one) => names.feature(one)))}. `,
        `At most ${amount(most, session.unit)} more, with this question.`)
      : el("p", {}, "This is the last question."),
    el("p", { class: "small" }, `In the plan: ${why}`),
  ];
}

// Whether the answer could change, in words.
function howItCouldChange(session, names) {
  const now = String(session.answer.value), others = session.question.outlook.map((one) => one.value);
  if (others.includes(null)) return "After this question, the answer would be in this range:"; // numbers
  const changed = others.filter((one) => String(one) !== now).map((one) => names.answer(one));
  if (changed.length > 0) return `The answer so far is ${names.answer(session.answer.value)}. This question could change it to ${list(changed, "or")}:`;
  return `The answer so far, ${names.answer(session.answer.value)}, would stay. This question could make it more or less certain:`;
}

// What the answer would be for each value of the question.
function eachAnswer(feature, answers, names) {
  return el("ul", { class: "plain ranges" }, answers.map(({ value, answer, probability }) => el("li", {},
    el("span", {}, "If ", el("strong", {}, names.value(feature, value))),
    el("span", { class: "right" }, names.answer(answer) + (typeof probability === "number" ? ` (${percent(probability)})` : "")))));
}

// Each answer that is possible, with the range of its probability; or the range of numbers.
// If answers were simulated, the share of each among the draws estimates how often it occurs.
function ranges(outlook, now, names) {
  const probable = Boolean(now.probabilities);
  return el("ul", { class: "plain ranges" }, outlook.map(({ value, low, high, share }) => {
    const ends = probable ? [percent(low), percent(high)] : [number(low), number(high)];
    const span = ends[0] === ends[1] ? ends[0] : `${ends[0]} to ${ends[1]}`;
    if (!probable && (low === null || low === undefined)) return el("li", {}, names.answer(value));
    if (!probable) return el("li", {}, span);
    const often = typeof share === "number" ? `, in ${percent(share)} of cases` : "";
    return el("li", {}, el("span", {}, names.answer(value), often), el("span", { class: "right" }, span),
      bar("share", { from: low, to: Math.max(high, low + 0.01) }));
  }));
}

// -- a higher budget -----------------------------------------------------------------------------------------

function moreMoney(session, names, does) {
  const input = el("input", { id: "more", inputmode: "decimal", autocomplete: "off", value: roundAmount(session.question.most) });
  const result = el("div", { class: "found", "aria-live": "polite" });
  const submit = async (event) => {
    event.preventDefault();
    const more = readAmount(input.value);
    if (more === undefined || more === null) show(result, el("p", { class: "error" }, "Enter a number of at least 0."));
    else show(result, foreseen(await does.whatIf({ more }), session, names));
  };
  return el("form", { submit, novalidate: true },
    el("label", { for: "more" }, "What would the next"),
    el("span", { class: "row tight" }, input, session.unit && el("span", {}, session.unit), el("button", {}, "buy?")),
    result);
}

// A round amount of about 50, less if less can be spent.
function roundAmount(most) {
  if (!(most > 0) || most >= 50) return 50;
  const unit = 10 ** Math.floor(Math.log10(most));
  return Number((Math.floor(most / unit) * unit).toPrecision(1));
}

function changeBudget(session, names, does) {
  const limit = cap(session);
  const most = Math.max(Math.ceil(session.cost + session.question.most), Math.ceil(names.mostPaid), 1);
  const start = Math.min(limit ?? most, most);
  const slider = el("input", { id: "cap", type: "range", min: 0, max: most, step: most > 20 ? 1 : most / 100, value: start });
  const exact = el("input", { id: "cap-exact", inputmode: "decimal", autocomplete: "off", value: limit ?? "", placeholder: "no limit", "aria-label": "Budget as a number" });
  const result = el("div", { class: "found", "aria-live": "polite" });
  let waiting = 0;
  const look = () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const budget = readAmount(exact.value);
      if (budget === undefined) show(result, el("p", { class: "error" }, "Enter a number of at least 0."));
      else if (budget === null) show(result, el("p", {}, "No limit: the plan asks all questions that it needs."));
      else show(result, foreseen(await does.whatIf({ budget }), session, names));
    }, 250);
  };
  slider.addEventListener("input", () => { exact.value = String(Number(Number(slider.value).toPrecision(6))); look(); });
  exact.addEventListener("input", () => { if (readAmount(exact.value)) slider.value = exact.value; look(); });
  const submit = (event) => {
    event.preventDefault();
    const budget = readAmount(exact.value);
    if (budget === undefined) exact.focus();
    else does.budget(budget);
  };
  return el("form", { submit, novalidate: true },
    el("label", { for: "cap" }, "At most", session.unit && ` (${session.unit})`),
    slider, el("div", { class: "row tight" }, exact, el("button", { id: "apply" }, "Apply")), result);
}

function foreseen(found, session, names) {
  if (!found) return el("p", {}, "The server did not answer. Try again.");
  const items = (some) => some.map((one) => (
    `${names.feature(one.feature)} (${amount(one.price, session.unit)}${likely(one.chance)})`));
  const certain = items(found.certain), possible = items(found.possible.filter((one) => one.chance !== 0));
  if (!certain.length && !possible.length) {
    const { label, price } = session.question;
    return el("p", {}, `Nothing: the next question, ${label}, costs ${amount(price, session.unit)}. The answer would still be `,
      el("strong", {}, inOneLine(session.answer, names)), ".");
  }
  return [
    certain.length > 0 && el("p", {}, `For certain: ${list(certain)}.`),
    possible.length > 0 && el("p", {}, `Perhaps: ${list(possible)}.`),
    found.outlook?.length > 0 && [el("p", {}, "The answer would then be:"), ranges(found.outlook, session.answer, names)],
    typeof found.chance === "number" && el("p", {}, `Chance that the answer changes: ${percent(found.chance)}.`),
    typeof found.mean_cost === "number" && el("p", {}, `Paid on average: ${amount(found.mean_cost, session.unit)} more.`),
    found.estimate && el("p", { class: "small" }, `Estimate: ${found.estimate}.`),
  ];
}

function likely(chance) {
  return typeof chance === "number" && chance < 1 ? `, needed in ${percent(chance)} of cases` : "";
}

// -- what was answered ---------------------------------------------------------------------------------------

export function historyView(session, names) {
  if (!session.history.length) return null;
  const items = session.history.map((one) => el("li", {},
    el("span", {}, names.feature(one.feature)),
    el("span", { class: "right" }, outcomeText(one, names)),
    el("span", { class: "small" }, `${amount(one.cost, session.unit)}; then ${inOneLine({ value: one.answer, probabilities: one.probabilities }, names)}`)));
  return el("section", { class: "card history" },
    el("h2", {}, `Answered: ${count(items.length, "question")}`), el("ol", { class: "plain" }, items));
}

export function outcomeText(one, names) {
  if (one.outcome === "value") return names.value(one.feature, one.value);
  if (one.outcome === "null" || one.outcome === "nan") return "no value";
  return one.outcome === "declined" ? "not available" : `not available (${one.outcome})`;
}
