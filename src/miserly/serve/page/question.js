// The question that the plan asks now: label, help, price, and an input that fits its values.

import { el } from "./dom.js";
import { amount, choiceLabel, number } from "./words.js";

const MOST_BUTTONS = 7; // up to this number, choices are radio buttons; more are a list
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

export function questionCard(session, does) {
  const question = session.question;
  const problem = el("p", { class: "error", id: "problem", role: "alert" });
  const field = fieldOf(question);
  const complain = (text) => {
    problem.textContent = text;
    for (const one of field.inputs) one.setAttribute("aria-invalid", "true");
    field.inputs[0].focus();
  };
  const submit = (event) => {
    event.preventDefault();
    const read = field.read();
    if (read.problem) complain(read.problem);
    else does.give(read.value);
  };
  const form = el("form", { class: "card question", submit, novalidate: true },
    el("p", { class: "step" }, `Question ${session.history.length + 1}`),
    field.node,
    priceLine(session),
    problem,
    el("div", { class: "row actions" },
      el("button", { class: "primary", id: "next" }, "Next"),
      el("button", { type: "button", id: "decline", click: does.decline }, "I don’t have it"),
      session.can_go_back && el("button", { type: "button", class: "plain-button", id: "back", click: does.back }, "Back")));
  return { form, complain, focus: () => field.inputs[0].focus() };
}

function priceLine(session) {
  const { price, setup, group } = session.question;
  const extra = setup > 0 ? `, of which ${amount(setup, session.unit)} once for ${group}` : "";
  return el("p", { class: "price" }, "Price: ", el("strong", {}, amount(price, session.unit)), extra);
}

function fieldOf(question) {
  const choices = choicesOf(question);
  if (!choices.length) return numberField(question);
  return choices.length > MOST_BUTTONS ? listField(question, choices) : buttonField(question, choices);
}

function choicesOf(question) {
  if (question.choices?.length) return question.choices.map((one) => ({ ...one, label: choiceLabel(one) }));
  return question.kind === "boolean" ? [{ value: true, label: "Yes" }, { value: false, label: "No" }] : [];
}

function helpLine(question) {
  return question.help ? el("span", { class: "help", id: "help" }, question.help) : null;
}

// Radio buttons. Arrow keys move between them, Enter submits.
function buttonField(question, choices) {
  const inputs = choices.map((_, i) => el("input", {
    type: "radio", name: "value", value: i, id: `choice-${i}`, "aria-describedby": "problem",
  }));
  const buttons = choices.map((one, i) => el("label", { class: "option", for: `choice-${i}` }, inputs[i], el("span", {}, one.label)));
  return {
    node: el("fieldset", { "aria-describedby": question.help ? "help" : null },
      el("legend", {}, el("h1", {}, question.label)), helpLine(question), el("div", { class: "options" }, buttons)),
    inputs,
    read() {
      const chosen = inputs.findIndex((one) => one.checked);
      return chosen < 0 ? { problem: "Choose one, or say that you don’t have it." } : { value: choices[chosen].value };
    },
  };
}

function listField(question, choices) {
  const input = el("select", { id: "value", "aria-describedby": "help problem" },
    el("option", { value: "" }, "Choose …"), choices.map((one, i) => el("option", { value: i }, one.label)));
  return {
    node: el("div", { class: "field" }, el("h1", {}, el("label", { for: "value" }, question.label)), helpLine(question), input),
    inputs: [input],
    read: () => input.value === ""
      ? { problem: "Choose one, or say that you don’t have it." }
      : { value: choices[Number(input.value)].value },
  };
}

function numberField(question) {
  const doubt = el("p", { class: "note", id: "doubt", "aria-live": "polite" });
  const input = el("input", {
    id: "value", inputmode: question.whole && question.low >= 0 ? "numeric" : "decimal", autocomplete: "off",
    "aria-describedby": "help hint doubt problem",
    input: () => {
      const { value } = readNumber(input.value);
      doubt.textContent = value === undefined ? "" : unusual(question, value);
      input.removeAttribute("aria-invalid");
    },
  });
  return {
    node: el("div", { class: "field" },
      el("h1", {}, el("label", { for: "value" }, question.label)),
      helpLine(question),
      el("span", { class: "hint", id: "hint" }, rangeHint(question)),
      el("div", { class: "with-unit" }, input, question.unit && el("span", { class: "unit" }, question.unit)),
      doubt),
    inputs: [input],
    read: () => readNumber(input.value),
  };
}

function rangeHint(question) {
  const kind = question.whole ? "A whole number" : "A number";
  if (question.low === null || question.high === null) return `${kind}.`;
  return `${kind}, usually from ${number(question.low)} to ${number(question.high)}.`;
}

function unusual(question, value) {
  const { low, high } = question;
  if (low !== null && high !== null && (value < low || value > high)) {
    return `Unusual: the plan has seen values from ${number(low)} to ${number(high)}. Please check it. You can still use it.`;
  }
  return question.whole && !Number.isInteger(value) ? "Unusual: the plan has seen whole numbers. You can still use it." : "";
}

function readNumber(text) {
  const trimmed = text.trim();
  if (trimmed === "") return { problem: "Write a number, or say that you don’t have it." };
  if (trimmed.includes(",")) return { problem: `“${trimmed}” is not a number here. Write decimals with a point: 1.5` };
  const value = NUMBER.test(trimmed) ? Number(trimmed) : NaN;
  return Number.isFinite(value) ? { value } : { problem: `“${trimmed}” is not a number.` };
}
