// Requests to the service. Every failure is a `Failure` with a message for the user.

const KEY = "miserly-key";
const PATIENCE = 20_000; // milliseconds

export class Failure extends Error {
  constructor(status, code, message, field = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

export function keepKey(key) {
  sessionStorage.setItem(KEY, key);
}

export function hasKey() {
  return sessionStorage.getItem(KEY) !== null;
}

async function call(method, path, body) {
  const headers = { Accept: "application/json" };
  const key = sessionStorage.getItem(KEY);
  if (key) headers["X-API-Key"] = key;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response, text;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const options = { method, headers, signal, cache: "no-store" };
    response = await fetch(path, body === undefined ? options : { ...options, body: JSON.stringify(body) });
    text = await response.text();
  } catch (error) {
    const late = error.name === "TimeoutError";
    throw new Failure(0, "unreachable", late
      ? "The server did not answer in time."
      : "The server cannot be reached. It may be stopped, or the network is down.");
  }
  if (response.status === 204) return null;
  let record;
  try {
    record = JSON.parse(text);
  } catch {
    throw new Failure(response.status, "unreadable", "The server sent an answer that this page cannot read.");
  }
  if (response.ok) return record;
  const error = record.error ?? {};
  throw new Failure(response.status, error.code ?? "error", error.message ?? "The server refused the request.", error.field);
}

const session = (id) => `/v1/sessions/${encodeURIComponent(id)}`;

export const api = {
  models: () => call("GET", "/v1/models"),
  model: (name) => call("GET", `/v1/models/${encodeURIComponent(name)}`),
  begin: (name, budget) =>
    call("POST", `/v1/models/${encodeURIComponent(name)}/sessions`, budget === null ? {} : { budget }),
  session: (id) => call("GET", session(id)),
  give: (one, feature, value) =>
    call("POST", `${session(one.id)}/values`, { values: { [feature]: value }, version: one.version }),
  decline: (one, feature) =>
    call("POST", `${session(one.id)}/values`, { values: {}, unavailable: [feature], version: one.version }),
  back: (one) => call("POST", `${session(one.id)}/back`, { version: one.version }),
  stop: (one) => call("POST", `${session(one.id)}/stop`, { version: one.version }),
  budget: (one, budget) => call("PATCH", session(one.id), { budget, version: one.version }),
  whatIf: (one, question) => call("POST", `${session(one.id)}/what-if`, question),
};
