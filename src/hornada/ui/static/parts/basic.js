// The small pieces that pages are made of.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { Away, probe } from "../lib/api.js";
import { has, moment, since, t } from "../lib/i18n.js";
import { Icon } from "./icon.js";
import { say } from "./notice.js";

export function Page({ title, lead, actions, back, children }) {
  const heading = useRef();
  useEffect(() => {
    document.title = `${title} · Hornada`;
  }, [title]);
  return html`<div class="page">
    <header class="page-head">
      <div class="page-title">
        ${back && html`<a class="back" href=${back.href}><${Icon} name="left" size=${16} />${back.text}</a>`}
        <h1 ref=${heading} tabindex="-1">${title}</h1>
        ${lead && html`<p class="lead">${lead}</p>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}
  </div>`;
}

export function Card({ title, note, actions, children, flush, label, kind = "" }) {
  return html`<section class="card ${flush ? "flush" : ""} ${kind}" aria-label=${flush ? undefined : (label ?? title)}>
    ${
      (title || actions) &&
      html`<header class="card-head">
        <div>${title && html`<h2>${title}</h2>`}${note && html`<p class="note">${note}</p>`}</div>
        ${actions && html`<div class="actions">${actions}</div>`}
      </header>`
    }
    ${children}
  </section>`;
}

export function Button({ children, icon, kind = "", busy, iconOnly, ...rest }) {
  return html`<button
    type="button"
    class="button ${kind} ${iconOnly ? "icon-only" : ""}"
    aria-busy=${busy ? "true" : undefined}
    disabled=${busy || rest.disabled}
    ...${rest}
  >
    ${icon && html`<${Icon} name=${icon} />`}${children}
  </button>`;
}

export function Figure({ label, value, note, icon, kind = "", live }) {
  return html`<div class="figure ${kind}">
    <dt>${icon && html`<${Icon} name=${icon} size=${16} />`}${label}</dt>
    <dd aria-live=${live ? "off" : undefined}>
      <span class="big">${value}</span>${note && html`<span class="note">${note}</span>`}
    </dd>
  </div>`;
}

export const Figures = ({ children }) => html`<dl class="figures">${children}</dl>`;

export function Time({ at, relative }) {
  if (!at) return html`<span class="muted">–</span>`;
  return html`<time datetime=${new Date(at * 1000).toISOString()} title=${moment(at)}
    >${relative ? since(at) : moment(at)}</time
  >`;
}

export function Id({ text, short }) {
  return html`<code class="id" title=${text}
    >${short && text.length > 20 ? `${text.slice(0, 12)}…${text.slice(-4)}` : text}</code
  >`;
}

export function Status({ status, paused }) {
  const shown = paused ? "paused" : status;
  return html`<span class="status ${shown}"
    ><span class="dot" />${has(`status.${shown}`) ? t(`status.${shown}`) : shown}</span
  >`;
}

export function Progress({ counts, label, big }) {
  const { total, completed, failed } = counts;
  const part = (count) => `${total ? (100 * count) / total : 0}%`;
  return html`<div
    class="progress ${big ? "big" : ""}"
    role="progressbar"
    aria-label=${label ?? t("progress")}
    aria-valuemin="0"
    aria-valuemax=${Math.max(total, 1)}
    aria-valuenow=${completed + failed}
    aria-valuetext=${t("progress.text", { done: completed + failed, total, failed })}
  >
    <span class="done" style=${{ width: part(completed) }} /><span class="failed" style=${{ width: part(failed) }} />
  </div>`;
}

export function Copy({ text, label }) {
  const [done, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      (document.querySelector("dialog[open]") ?? document.body).append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    set(true);
    say(t("copied"));
    setTimeout(() => set(false), 2000);
  };
  return html`<${Button} icon=${done ? "check" : "copy"} kind="quiet" onClick=${copy}>${label ?? t("copy")}</${Button}>`;
}

export function Fault({ error, retry }) {
  if (!error) return null;
  const gone = error instanceof Away;
  return html`<div class="alert bad" role="alert">
    <${Icon} name="warning" />
    <div>
      <p>${gone ? t("away.short") : error.message}</p>
      ${error.code && html`<p class="note"><code>${error.code}</code>${error.requestId && html` · <code>${error.requestId}</code>`}</p>`}
    </div>
    ${(retry || gone) && html`<${Button} kind="quiet" icon="retry" onClick=${gone ? probe : retry}>${t("again")}</${Button}>`}
  </div>`;
}

export function Empty({ title, text, icon = "inbox", children }) {
  return html`<div class="empty">
    <${Icon} name=${icon} size=${34} />
    <p class="empty-title">${title}</p>
    ${text && html`<p>${text}</p>`}${children}
  </div>`;
}

export function Waiting({ rows = 3 }) {
  return html`<div class="waiting" role="status" aria-label=${t("loading")}>
    ${Array.from({ length: rows }, (_, at) => html`<span key=${at} />`)}
  </div>`;
}

// What a load gives: its fault, a sign of waiting, or the children over what was loaded last.
export function Loaded({ of, rows, children }) {
  if (of.data === undefined)
    return of.error ? html`<${Fault} error=${of.error} retry=${of.reload} />` : html`<${Waiting} rows=${rows} />`;
  return html`${of.error && html`<${Fault} error=${of.error} retry=${of.reload} />`}${children(of.data)}`;
}

export function Pager({ pages }) {
  if (pages.number === 1 && !pages.more) return null;
  return html`<nav class="pager" aria-label=${t("pages")}>
    <${Button} icon="left" disabled=${pages.number === 1} onClick=${pages.back}>${t("page.back")}</${Button}>
    <span class="note">${t("page.number", { n: pages.number })}</span>
    <${Button} icon="right" disabled=${!pages.more} onClick=${pages.next}>${t("page.next")}</${Button}>
  </nav>`;
}
