// Light or dark: as the system says, until somebody chooses.
import { signal } from "./signal.js";
import { device } from "./store.js";

const NAME = "hornada.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export const repainted = signal(0); // for what does not follow the style sheet: canvases
export const theme = signal(device.get(NAME) ?? "system");

export function shown() {
  return theme.value === "system" ? (dark.matches ? "dark" : "light") : theme.value;
}

function apply() {
  document.documentElement.dataset.theme = shown();
  repainted.set(repainted.value + 1);
}

export function choose(name) {
  device.set(NAME, name);
  theme.set(name);
  apply();
}

dark.addEventListener("change", apply);
apply();
