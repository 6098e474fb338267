// The page that the address names: what follows `#`.
import { signal } from "./signal.js";

function parse() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

export const route = signal(parse());
addEventListener("hashchange", () => route.set(parse()));

export function to(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `#/${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

export function go(path, query) {
  location.hash = to(path, query);
}

// Changes the query only, without a new entry in the history.
export function narrow(query) {
  const now = parse();
  history.replaceState(null, "", to(now.path.map(encodeURIComponent).join("/"), { ...now.query, ...query }));
  route.set(parse());
}
