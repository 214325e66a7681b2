// The end of a case: the answer and its receipt, on the screen and on paper.

import { el } from "./dom.js";
import { answerView, outcomeText } from "./panel.js";
import { readAmount } from "./start.js";
import { amount, amounts, inOneLine } from "./words.js";

export function resultScreen(session, model, names, does) {
  const receipt = session.receipt ?? {};
  const title = model?.title || session.model;
  return [
    el("p", { class: "step" }, title),
    el("h1", { tabindex: "-1" }, el("span", { class: "quiet" }, "Answer: "), names.answer(session.answer.value)),
    el("div", { class: "result" },
      el("section", { class: "card" },
        el("h2", {}, session.answer.probabilities ? "Probability" : "Estimate"),
        answerView(session.answer, names),
        el("p", {}, ENDINGS[receipt.stopped_by] ?? receipt.reason),
        receipt.stopped_by === "budget" && higherBudget(session, does)),
      receiptView(session, receipt, title, names)),
    el("div", { class: "row actions screen-only" },
      el("button", { class: "primary", type: "button", id: "print", click: () => window.print() }, "Print"),
      el("button", { type: "button", id: "download", click: () => download(session) }, "Download as JSON"),
      session.can_go_back && el("button", { type: "button", id: "back", click: does.back }, "Back"),
      el("a", { class: "button", href: `#/m/${encodeURIComponent(session.model)}`, id: "again" }, "New case")),
  ];
}

const ENDINGS = {
  answered: "The plan has no more questions.",
  budget: "The budget allows no further question.",
  caller: "It was stopped before the last question.",
  deadline: "The deadline has passed.",
  failure: "A value could not be fetched.",
};

// A case that ended because of its budget can continue.
function higherBudget(session, does) {
  const input = el("input", { id: "higher", inputmode: "decimal", autocomplete: "off" });
  const submit = (event) => {
    event.preventDefault();
    const budget = readAmount(input.value);
    if (budget === undefined || budget === null) input.focus();
    else does.budget(budget);
  };
  return el("form", { class: "screen-only", submit, novalidate: true },
    el("label", { for: "higher" }, "A higher budget", session.unit && ` (${session.unit})`),
    el("div", { class: "row tight" }, input, el("button", {}, "Continue")));
}

function receiptView(session, receipt, title, names) {
  const price = amounts([session.cost, receipt.evaluation_cost ?? 0, ...session.history.map((one) => one.cost)]);
  const rows = session.history.map((one, i) => line(i + 1, names.feature(one.feature), [
    outcomeText(one, names),
    el("span", { class: "small then" }, `then ${inOneLine({ value: one.answer, probabilities: one.probabilities }, names)}`),
  ], price(one.cost)));
  if (receipt.evaluation_cost > 0) rows.push(line("", "Evaluation", "", price(receipt.evaluation_cost)));
  const limit = session.budget === null ? "no limit was set" : `of at most ${amount(session.budget, session.unit)}`;
  const heads = [["No.", "order"], ["Question"], ["Answer"], [session.unit ? `Paid (${session.unit})` : "Paid", "right"]];
  const known = receipt.known ?? [];
  const when = new Date().toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  return el("section", { class: "card receipt" },
    el("h2", {}, "Receipt"),
    // Explicit roles: on narrow screens rows are shown as blocks, and browsers then drop the table roles.
    el("table", { role: "table" },
      el("thead", { role: "rowgroup" },
        el("tr", { role: "row" }, heads.map(([text, kind]) => el("th", { scope: "col", role: "columnheader", class: kind }, text)))),
      el("tbody", { role: "rowgroup" }, rows),
      el("tfoot", { role: "rowgroup" }, line("", session.unit ? `Total (${session.unit})` : "Total", limit, el("strong", {}, price(session.cost))))),
    known.length > 0 && el("p", { class: "small" }, `Known before, at no cost: ${known.map((one) => names.feature(one)).join(", ")}.`),
    el("p", { class: "small" }, `${title}, version ${session.digest.slice(0, 12)}. ${when}. Case ${session.id.slice(0, 8)}.`));
}

function line(order, question, answer, paid) {
  return el("tr", { role: "row" }, el("td", { role: "cell", class: "order" }, String(order)),
    el("th", { scope: "row", role: "rowheader" }, question), el("td", { role: "cell", class: "answer" }, answer),
    el("td", { role: "cell", class: "right" }, paid));
}

function download(session) {
  const text = JSON.stringify(session.receipt ?? session, null, 2);
  const link = el("a", {
    href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: `receipt-${session.id.slice(0, 8)}.json`,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
