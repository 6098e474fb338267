// The results browser: what was asked beside what was answered, line by line.
import { live } from "../lib/batch.js";
import { html, useState } from "../lib/html.js";
import { compact, number, t } from "../lib/i18n.js";
import { useLoad } from "../lib/load.js";
import { narrow } from "../lib/route.js";
import { askedOf, faultOf, results, textOf } from "../lib/results.js";
import { Button, Card, Empty, Loaded, Pager } from "./basic.js";
import { Icon } from "./icon.js";
import { Visible } from "./visible.js";

const SORTS = ["all", "succeeded", "failed"];
const LONG = 700;

export function Results({ batch, query }) {
  const status = SORTS.includes(query.results) ? query.results : "all";
  const text = query.search ?? "";
  const search = (event) => {
    event.preventDefault();
    narrow({ search: new FormData(event.target).get("search").trim() });
  };
  return html`<${Card} title=${t("results")} note=${live(batch) ? t("results.partial") : undefined} kind="results">
    <div class="toolbar">
      <div class="chips" role="group" aria-label=${t("filter")}>${SORTS.map((each) => html`<button type="button" class="chip" key=${each}
        aria-pressed=${each === status}
        onClick=${() => narrow({ results: each === "all" ? "" : each })}>${t(`results.${each}`)}</button>`)}</div>
      <form class="search" role="search" onSubmit=${search}>
        <label class="unseen" for="search">${t("results.search")}</label>
        <input id="search" name="search" type="search" value=${text} placeholder=${t("results.search")}
          onInput=${(event) => event.target.value === "" && narrow({ search: "" })} />
        <${Button} type="submit" iconOnly icon="search" aria-label=${t("results.find")} />
      </form>
    </div>
    <${Lines} key=${`${status} ${text}`} batch=${batch} status=${status} text=${text} />
  </${Card}>`;
}

function Lines({ batch, status, text }) {
  const [starts, setStarts] = useState([0]);
  const after = starts.at(-1);
  const counts = batch.request_counts;
  const settled = live(batch) ? "" : batch.status;
  const found = useLoad(
    (abort) => results(batch.id, { after, status, text }, abort),
    [batch.id, after, settled, counts.completed + counts.failed === 0],
    (data) => (live(batch) && !data?.has_more && !text ? 4000 : 0),
  );
  const pages = {
    number: starts.length,
    more: Boolean(found.data?.has_more),
    next: () => setStarts((all) => [...all, found.data.last]),
    back: () => setStarts((all) => all.slice(0, -1)),
  };
  return html`<${Loaded} of=${found} rows=${4}>${({ data }) =>
    data.length
      ? html`<ol class="lines">
          ${data.map((line) => html`<${Line} key=${line.line ?? line.custom_id} line=${line} />`)}
        </ol>`
      : html`<${Empty}
          title=${t(status === "failed" && !text ? "results.none.failed" : "results.none")}
          icon=${status === "failed" ? "check" : "search"}
        />`}</${Loaded}>
    <${Pager} pages=${pages} />`;
}

function Line({ line }) {
  const failed = line.status === "failed";
  const usage = line.response?.body?.usage;
  const tokens = usage?.total_tokens;
  const [raw, setRaw] = useState(false);
  return html`<li class="line ${failed ? "failed" : ""}">
    <header class="line-head">
      <span class="line-number">${number(line.line)}</span
      ><code class="code"><${Visible} text=${line.custom_id} /></code>
      <span class="status ${failed ? "failed" : "completed"}"
        ><span class="dot" />${t(failed ? "results.failed.one" : "results.succeeded.one")}</span
      >
      ${line.response && html`<span class="pill">${line.response.status_code}</span>`}
      ${Number.isFinite(tokens) && html`<span class="note">${t("tokens.count", { n: compact(tokens) })}</span>`}
      <button
        type="button"
        class="button quiet tiny"
        aria-pressed=${raw}
        aria-label=${t("results.raw.of", { id: line.custom_id })}
        onClick=${() => setRaw(!raw)}
      >
        ${t("results.raw")}
      </button>
    </header>
    ${raw ? html`<pre class="raw" tabindex="0"><code><${Visible} text=${JSON.stringify(line, null, 2)} /></code>
      </pre>` : html`<div class="pair"><${Asked} input=${line.input} /><${Answered} line=${line} failed=${failed} /></div>`}
  </li>`;
}

function Asked({ input }) {
  if (input === null || input === undefined)
    return html`<div class="asked">
      <h3>${t("results.asked")}</h3>
      <p class="note">${t("results.gone")}</p>
    </div>`;
  return html`<div class="asked">
    <h3>${t("results.asked")}</h3>
    ${askedOf(input).map((each, at) => html`<div class="message" key=${at}>${each.role && html`<span
      class="role">${each.role}</span>`}<${Long} text=${each.text} /></div>`)}
  </div>`;
}

function Answered({ line, failed }) {
  if (failed) {
    const fault = faultOf(line);
    return html`<div class="answered bad">
      <h3><${Icon} name="warning" size=${15} />${t("results.fault")}</h3>
      ${fault.code && html`<code class="code">${String(fault.code)}</code>`}<${Long} text=${fault.message ?? ""} />
    </div>`;
  }
  const text = textOf(line.response?.body);
  return html`<div class="answered">
    <h3>${t("results.answered")}</h3>
    ${text ? html`<${Long} text=${text} />` : html`<p class="note">${t("results.empty")}</p>`}
  </div>`;
}

function Long({ text }) {
  const [open, setOpen] = useState(false);
  const long = text.length > LONG;
  return html`<div class="text"><${Visible} text=${long && !open ? `${text.slice(0, LONG)}…` : text} /></div>
    ${long && html`<button type="button" class="button quiet tiny" aria-expanded=${open}
      onClick=${() => setOpen(!open)}>${t(open ? "less" : "more", { n: number(text.length) })}</button>`}`;
}
