// Rate and remaining time of a batch over the time that somebody has looked at it.
import { html } from "../lib/html.js";
import { clock, duration, number, t } from "../lib/i18n.js";
import { Chart } from "./chart.js";

const OVER_S = 5;

// For each look, the lines a second over the last few seconds, and how long the rest takes at that rate.
export function curves(samples) {
  let from = 0;
  return samples.map((each, at) => {
    while (from < at - 1 && each.at - samples[from].at > OVER_S) from += 1;
    const seconds = each.at - samples[from].at;
    const rate = at && seconds > 0 ? (each.done - samples[from].done) / seconds : 0;
    return { at: each.at, rate, eta: rate > 0 ? (each.total - each.done) / rate : null };
  });
}

export function Pace({ samples }) {
  const found = curves(samples).slice(1);
  const xs = found.map((each) => each.at);
  const last = found[found.length - 1] ?? { rate: 0, eta: null };
  const figure = (rate) => number(rate, { maximumFractionDigits: rate < 10 ? 1 : 0 });
  return html`<div class="columns even">
    <div class="column">
      <h3>${t("batch.rate")}</h3>
      <${Chart}
        label=${t("pace.rate")}
        summary=${t("rate.said", { n: figure(last.rate) })}
        xs=${xs}
        series=${[{ label: t("pace.rate"), colour: "accent", values: found.map((each) => each.rate) }]}
        texts=${{ x: clock, y: (value) => (value === null ? "–" : figure(value)) }}
      />
    </div>
    <div class="column">
      <h3>${t("batch.eta")}</h3>
      <${Chart}
        label=${t("pace.eta")}
        summary=${duration(last.eta)}
        xs=${xs}
        series=${[{ label: t("pace.eta"), colour: "chart-2", values: found.map((each) => each.eta) }]}
        texts=${{ x: clock, y: duration }}
      />
    </div>
  </div>`;
}
