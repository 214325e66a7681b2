// The page: its screens, the actions of its buttons, and its error messages.
//
// The address selects the screen: #/ the models, #/m/NAME one model, #/s/ID/PLACE a case. PLACE counts the
// answers, so the browser's back button takes back an answer, like the button on the page.

import { Failure, api, hasKey, keepKey } from "./api.js";
import { announce, el, show } from "./dom.js";
import { historyView, sidePanel, strip } from "./panel.js";
import { questionCard } from "./question.js";
import { resultScreen } from "./result.js";
import { endScreen, keyScreen, modelsScreen, startScreen } from "./start.js";
import { Names, inOneLine, paidText, sentence } from "./words.js";

const SLOW = 1500; // milliseconds until a slow server is mentioned

const view = document.getElementById("view");
const notice = document.getElementById("notice");
const state = { session: null, model: null, names: new Names(null), card: null, busy: false, turn: 0 };

// -- addresses ----------------------------------------------------------------------------------------------

function address() {
  const [, kind = "", id = "", place = ""] = location.hash.split("/").map(decoded);
  return { kind, id, place: place === "" ? null : Number(place) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not an address of this page
  }
}

// The progress of a case: the number of answers, plus one if it was stopped. Going back subtracts one.
function placeOf(session) {
  return session.history.length + (session.receipt?.stopped_by === "caller" ? 1 : 0);
}

function setAddress(session, how) {
  const place = placeOf(session);
  const hash = `#/s/${encodeURIComponent(session.id)}/${place}`;
  if (location.hash === hash) return;
  const from = address().kind === "s" ? address().place : null;
  if (how === "push") history.pushState({ from }, "", hash);
  else history.replaceState(history.state, "", hash);
}

async function route() {
  if (state.busy) return void setTimeout(route, 50);
  const turn = ++state.turn;
  const { kind, id, place } = address();
  clearNotice();
  if (kind === "s" && state.session?.id === id) {
    if (place !== null && place < placeOf(state.session)) return backTo(place);
    return showSession(state.session, "replace");
  }
  state.session = null;
  const current = (after) => (found) => { if (turn === state.turn) after(found); };
  if (kind === "s") return attempt(() => load(id), current((session) => showSession(session, "replace")));
  if (kind === "m") return attempt(() => loadModel(id), current(showStart));
  return attempt(() => api.models(), current(showModels));
}

async function load(id) {
  const session = await api.session(id);
  await loadModel(session.model).catch((error) => {
    if (error.status === 401) throw error;
  });
  return session;
}

async function loadModel(name) {
  if (state.model?.name !== name) {
    state.model = null;
    state.names = new Names(null);
    state.model = await api.model(name);
    state.names = new Names(state.model);
  }
  return state.model;
}

// -- screens -------------------------------------------------------------------------------------------------

function draw(title, ...children) {
  document.title = title ? `${title} – miserly` : "miserly";
  show(view, ...children);
  window.scrollTo(0, 0);
  view.querySelector("h1[tabindex]")?.focus({ preventScroll: true });
}

function showModels({ models }) {
  if (models.length === 1) {
    history.replaceState(null, "", `#/m/${encodeURIComponent(models[0].name)}`);
    return attempt(() => loadModel(models[0].name), showStart);
  }
  return draw("", modelsScreen(models));
}

function showStart(model) {
  draw(model.title, startScreen(model, (budget) => attempt(() => api.begin(model.name, budget), (session) => showSession(session, "push"))));
}

function showSession(session, how) {
  state.session = session;
  state.card = null;
  setAddress(session, how);
  const news = `${session.question ? "Answer so far" : "Answer"}: ${inOneLine(session.answer, state.names)}. ${paidText(session)}.`;
  if (!session.question) {
    draw(state.names.answer(session.answer.value), resultScreen(session, state.model, state.names, does));
  } else {
    state.card = questionCard(session, does);
    draw(session.question.label, el("div", { class: "columns" },
      el("div", {}, el("p", { class: "case" }, state.model?.title || session.model), strip(session, state.names), state.card.form),
      sidePanel(session, state.names, does), historyView(session, state.names)));
    state.card.focus();
  }
  announce(news);
}

// -- buttons ------------------------------------------------------------------------------------------------

const onward = (session) => showSession(session, "push");

const does = {
  give: (value) => attempt(() => api.give(state.session, state.session.question.feature, value), onward),
  decline: () => attempt(() => api.decline(state.session, state.session.question.feature), onward),
  stop: () => attempt(() => api.stop(state.session), onward),
  budget: (budget) => attempt(() => api.budget(state.session, budget), (session) => {
    showSession(session, "replace");
    say(session.question ? "The budget was changed." : "The new budget allows no further question.");
  }),
  back: () => {
    if (history.state?.from === placeOf(state.session) - 1) history.back(); // `route` does the rest
    else backTo(placeOf(state.session) - 1);
  },
  whatIf: async (question) => {
    try {
      return await api.whatIf(state.session, question);
    } catch (error) {
      if (error.status !== 0) failed(error, () => {});
      return null;
    }
  },
};

function backTo(place) {
  return attempt(async () => {
    let session = state.session;
    for (let left = placeOf(session) - place; left > 0 && placeOf(session) > place; left--) session = await api.back(session);
    return session;
  }, (session) => showSession(session, "replace"));
}

// -- errors --------------------------------------------------------------------------------------------------

async function attempt(work, after) {
  if (state.busy) return; // a second click, or a second Enter
  state.busy = true;
  view.setAttribute("aria-busy", "true");
  clearNotice();
  const slow = setTimeout(() => say("Waiting for the server …"), SLOW);
  let found, error;
  try {
    found = await work();
  } catch (caught) {
    error = caught;
  }
  clearTimeout(slow);
  state.busy = false;
  view.removeAttribute("aria-busy");
  clearNotice();
  if (error) await failed(error, () => attempt(work, after));
  else await after(found);
}

function failed(error, retry) {
  if (!(error instanceof Failure)) throw error;
  const { status, code } = error;
  if (status === 401) return askForKey(retry);
  if (status === 409 && state.session) return catchUp(error);
  if (status === 422 && state.card) return state.card.complain(sentence(error.message));
  if (code === "no_session") {
    return draw("Expired", endScreen("This case is not there any more",
      "Cases are deleted some time after the last answer. The case may also belong to another key.", again()));
  }
  if (status === 410) return draw("Changed", endScreen("The model was replaced", `${sentence(error.message)} The case cannot go on.`, again()));
  if (status === 404) return draw("Not found", endScreen("There is nothing here", sentence(error.message), again()));
  const hint = status === 0 || status >= 500 ? " Your answers are kept." : "";
  return say(`${sentence(error.message)}${state.session ? hint : ""}`, el("button", { type: "button", id: "retry", click: retry }, "Try again"));
}

function again() {
  const name = state.session?.model ?? state.model?.name;
  state.session = null;
  return el("a", { class: "button primary", href: name ? `#/m/${encodeURIComponent(name)}` : "#/" }, "New case");
}

function askForKey(retry) {
  draw("API key", keyScreen(hasKey(), (key) => {
    keepKey(key);
    retry();
  }));
  view.querySelector("input").focus();
}

// Another tab has changed the case. Show the differences, and continue with the new version.
function catchUp(error) {
  const before = state.session;
  return attempt(() => api.session(before.id), (session) => {
    if (session.version === before.version) return say(sentence(error.message)); // no other tab changed the case: the request is not possible
    showSession(session, "replace");
    const names = new Set(before.history.map((one) => one.feature));
    const now = new Set(session.history.map((one) => one.feature));
    const added = session.history.filter((one) => !names.has(one.feature)).map((one) => state.names.feature(one.feature));
    const removed = before.history.filter((one) => !now.has(one.feature)).map((one) => state.names.feature(one.feature));
    say([
      "This case has changed meanwhile, perhaps in another window.",
      added.length ? `Answered meanwhile: ${added.join(", ")}.` : "",
      removed.length ? `Taken back: ${removed.join(", ")}.` : "",
      "Please check the case. You can continue from here.",
    ].filter(Boolean).join(" "));
  });
}

function say(text, ...actions) {
  show(notice, el("div", { class: "notice" }, el("p", {}, text), actions));
}

function clearNotice() {
  if (notice.firstChild) show(notice);
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  if (state.card) state.card.focus();
  else document.getElementById("main").focus();
});
window.addEventListener("hashchange", route);
route();
