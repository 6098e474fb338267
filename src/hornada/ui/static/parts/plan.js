// How much of what the plan limits is used.
import { html } from "../lib/html.js";
import { number, percent, size, t } from "../lib/i18n.js";
import { get } from "../lib/api.js";
import { useLoad } from "../lib/load.js";
import { me } from "../lib/session.js";
import { Card, Loaded } from "./basic.js";

const FRESH_MS = 10_000;
const NEARLY = 0.9;
const LIMITS = ["active_batches", "queued_lines", "storage_bytes"];

export function Plan() {
  const found = useLoad(
    (abort) => get("/me", {}, abort),
    [],
    () => FRESH_MS,
  );
  const shown = me.value.batches ? LIMITS : LIMITS.slice(2);
  return html`<${Card} title=${t("plan.used")}>
    <${Loaded} of=${found}>${({ plan, used }) => html`<ul class="loads">
      ${shown.map((name) => html`<li key=${name}><${Used} name=${name} used=${used[name]} limit=${plan[name]} /></li>`)}
    </ul>`}</${Loaded}>
  </${Card}>`;
}

function Used({ name, used, limit }) {
  const part = Math.min(used / Math.max(limit, 1), 1);
  const amount = name === "storage_bytes" ? size : number;
  const text = t("plan.used.of", { used: amount(used), limit: amount(limit) });
  const label = t(`plan.used.${name}`);
  return html`<div class="load small">
    <div class="load-head"><span class="strong">${label}</span><span class="note">${text}</span></div>
    <div class="progress" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${Math.round(100 * part)} aria-valuetext="${text}, ${percent(part)}">
      <span class=${part > NEARLY ? "failed" : "done"} style=${{ width: `${100 * part}%` }} />
    </div>
  </div>`;
}
