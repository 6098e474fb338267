// The key of whoever is logged in: kept for this tab, or on this device if asked for.
import { signal } from "./signal.js";

const NAME = "hornada.key";

export const key = signal(localStorage.getItem(NAME) ?? sessionStorage.getItem(NAME));
export const me = signal(null);
export const ended = signal(false); // the key was refused while it was in use

export function keep(text, remember) {
  drop();
  (remember ? localStorage : sessionStorage).setItem(NAME, text);
  ended.set(false);
  key.set(text);
}

export function drop(refused = false) {
  localStorage.removeItem(NAME);
  sessionStorage.removeItem(NAME);
  me.set(null);
  ended.set(refused);
  key.set(null);
}

export const isOperator = () => me.value?.role === "operator";
export const isAdmin = () => me.value?.role === "operator" || me.value?.role === "admin";
