// Words in the reader's language, numbers and dates as that language writes them.
import { signal } from "./signal.js";
import { device } from "./store.js";

export const LANGUAGES = { en: "English", es: "Español" };
const NAME = "hornada.language";

export const language = signal("en");
let words = {};

export function preferred() {
  const chosen = device.get(NAME);
  if (chosen in LANGUAGES) return chosen;
  return navigator.languages.map((each) => each.slice(0, 2)).find((each) => each in LANGUAGES) ?? "en";
}

export async function speak(name, chosen = false) {
  const answer = await fetch(new URL(`../strings/${name}.json`, import.meta.url));
  words = await answer.json();
  if (chosen) device.set(NAME, name);
  document.documentElement.lang = name;
  language.set(name);
}

export function t(key, values) {
  const text = words[key] ?? key;
  return values ? text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole) : text;
}

// The form of a counted thing: `key.one` or `key.other`, `{n}` being the number as the language writes it.
export function counted(key, count, values) {
  const form = new Intl.PluralRules(language.value).select(count) === "one" ? "one" : "other";
  return t(`${key}.${form}`, { n: number(count), ...values });
}

export const has = (key) => key in words;

const made = new Map();
function maker(Kind, options) {
  const name = language.value + Kind.name + JSON.stringify(options);
  if (!made.has(name)) made.set(name, new Kind(language.value, options));
  return made.get(name);
}

const NONE = "–";

export function number(value, options = {}) {
  return value === null || value === undefined
    ? NONE
    : maker(Intl.NumberFormat, { useGrouping: true, ...options }).format(value);
}

export const compact = (value) => number(value, { notation: "compact", maximumFractionDigits: 1 });
export const percent = (part) =>
  number(part, { style: "percent", maximumFractionDigits: part > 0 && part < 0.01 ? 2 : 0 });

export function money(micros, currency) {
  if (micros === null || micros === undefined) return NONE;
  const value = micros / 1e6;
  const small = value !== 0 && Math.abs(value) < 0.1;
  const digits = small ? { maximumSignificantDigits: 3 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  try {
    return number(value, { style: "currency", currency, currencyDisplay: "narrowSymbol", ...digits });
  } catch {
    return `${number(value, digits)} ${currency ?? ""}`;
  }
}

export function size(bytes) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  const step = bytes > 0 ? Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  return number(bytes / 1000 ** step, {
    style: "unit",
    unit: units[step],
    unitDisplay: step ? "short" : "long",
    maximumFractionDigits: step ? 1 : 0,
  });
}

export function moment(seconds) {
  return seconds
    ? maker(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short" }).format(seconds * 1000)
    : NONE;
}

export const clock = (seconds) => maker(Intl.DateTimeFormat, { timeStyle: "medium" }).format(seconds * 1000);
export const day = (text) =>
  maker(Intl.DateTimeFormat, { day: "numeric", month: "short", timeZone: "UTC" }).format(new Date(text));

export function since(seconds) {
  if (!seconds) return NONE;
  const ago = seconds - Date.now() / 1000;
  const [unit, length] = [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ].find(([, each]) => Math.abs(ago) >= each) ?? ["second", 1];
  return maker(Intl.RelativeTimeFormat, { numeric: "auto", style: "short" }).format(Math.round(ago / length), unit);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const whole = Math.max(0, Math.round(seconds));
  const parts = [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ];
  const from = parts.findIndex(([, each]) => whole >= each);
  const shown = from < 0 ? [["second", 1]] : parts.slice(from, from + 2);
  let rest = whole;
  return shown
    .map(([unit, each], at) => {
      const count = Math.floor(rest / each);
      rest -= count * each;
      return count || at === 0 ? number(count, { style: "unit", unit, unitDisplay: "narrow" }) : "";
    })
    .filter(Boolean)
    .join(" ");
}
