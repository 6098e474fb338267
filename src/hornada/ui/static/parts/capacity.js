// How the slots of a model are used at this moment.
import { html } from "../lib/html.js";
import { number, t } from "../lib/i18n.js";

const KINDS = ["regular", "batch", "reserve", "free"];

export function state(model) {
  if (model.away_since) return "away";
  if (model.paused) return "paused";
  return model.batchable ? "" : "unbatchable";
}

export function Load({ model, small }) {
  const total = Math.max(
    1,
    KINDS.reduce((all, kind) => all + model[kind], 0),
  );
  const text = KINDS.map((kind) => `${t(`slots.${kind}`)} ${number(model[kind])}`).join(", ");
  const found = state(model);
  return html`<div class="load ${small ? "small" : ""}">
    <div class="load-head">
      <bdi class="strong">${model.id}</bdi
      >${found && html`<span class="tag ${found}">${t(`model.${found}`)}</span>`}<span class="note"
        >${t("slots.used", { used: number(model.regular + model.batch), all: number(model.capacity) })}</span
      >
    </div>
    <div class="slots" role="img" aria-label="${model.id}: ${text}">
      ${KINDS.filter((kind) => model[kind] > 0).map((kind) => html`<span key=${kind} class=${kind}
        style=${{ flexGrow: model[kind] / total }} />`)}
    </div>
    ${
      !small &&
      html`<ul class="legend">
        ${KINDS.map((kind) => html`<li key=${kind}>
          <span class="swatch ${kind}" />${t(`slots.${kind}`)} <strong>${number(model[kind])}</strong></li>`)}
      </ul>`
    }
  </div>`;
}
