// The key of whoever is logged in: kept for this tab, or on this device if asked for.
import { signal } from "./signal.js";
import { device, tab } from "./store.js";

const NAME = "hornada.key";

export const key = signal(device.get(NAME) ?? tab.get(NAME));
export const me = signal(null);
export const ended = signal(false); // the key was refused while it was in use

export function keep(text, remember) {
  drop();
  (remember ? device : tab).set(NAME, text);
  ended.set(false);
  key.set(text);
}

export function drop(refused = false) {
  device.drop(NAME);
  tab.drop(NAME);
  me.set(null);
  ended.set(refused);
  key.set(null);
}

export const isOperator = () => me.value?.role === "operator";
export const isAdmin = () => me.value?.role === "operator" || me.value?.role === "admin";
