// The list of batches, newest first, narrowed by status.
import { LIVE, STATUSES, live, nameOf, page } from "../lib/batch.js";
import { html } from "../lib/html.js";
import { money, number, t } from "../lib/i18n.js";
import { usePages } from "../lib/load.js";
import { narrow, to } from "../lib/route.js";
import { isOperator, me } from "../lib/session.js";
import { Card, Id, Loaded, Page, Pager, Progress, Status, Time } from "../parts/basic.js";
import { Icon } from "../parts/icon.js";
import { Table } from "../parts/table.js";

const FILTERS = {
  all: "",
  live: LIVE.join(","),
  ...Object.fromEntries(STATUSES.filter((each) => !LIVE.includes(each)).map((each) => [each, each])),
};

export function batchColumns() {
  return [
    {
      key: "name",
      name: t("batch"),
      cell: (batch) =>
        html`<a class="row-link" href=${to(`batches/${batch.id}`)}
            >${nameOf(batch) === batch.id ? html`<${Id} text=${batch.id} short />` : html`<bdi>${nameOf(batch)}</bdi>`}</a
          >
          <span class="note sub"><bdi>${batch.model ?? "–"}</bdi></span>`,
    },
    {
      key: "status",
      name: t("status"),
      cell: (batch) => html`<${Status} status=${batch.status} paused=${batch.paused} />`,
    },
    {
      key: "progress",
      name: t("progress"),
      kind: "wide",
      cell: ({ request_counts: counts }) =>
        html`<div class="progress-cell">
          <${Progress} counts=${counts} />
          <span class="note">
            ${`${number(counts.completed + counts.failed)} / ${number(counts.total)}`}
            ${counts.failed > 0 && html`${" · "}<span class="bad-text">${t("failed.count", { n: number(counts.failed) })}</span>`}
          </span>
        </div>`,
    },
    {
      key: "cost",
      name: t("cost"),
      kind: "number",
      cell: (batch) => money(batch.cost ?? batch.hornada?.cost, me.value.currency),
    },
    { key: "created", name: t("created"), cell: (batch) => html`<${Time} at=${batch.created_at} relative />` },
  ];
}

export function Batches({ query }) {
  const filter = query.status in FILTERS ? query.status : "all";
  return html`<${Page} title=${t("nav.batches")} lead=${t(isOperator() ? "batches.lead.operator" : "batches.lead")}
    actions=${!isOperator() && html`<a class="button primary" href=${to("new")}><${Icon} name="plus" />${t("new")}</a>`}>
    <div class="chips" role="group" aria-label=${t("filter")}>${Object.keys(FILTERS).map(
      (each) =>
        html`<button
          type="button"
          key=${each}
          class="chip"
          aria-pressed=${each === filter}
          onClick=${() => narrow({ status: each === "all" ? "" : each })}
        >
          ${t(each === "all" || each === "live" ? `filter.${each}` : `status.${each}`)}
        </button>`,
    )}</div>
    <${List} key=${filter} filter=${filter} />
  </${Page}>`;
}

function List({ filter }) {
  const pages = usePages(
    (after, abort) => page({ status: FILTERS[filter], after }, abort),
    [filter],
    (data) => (data?.data.some(live) ? 3000 : 15_000),
  );
  return html`<${Card} flush label=${t("nav.batches")}>
    <${Loaded} of=${pages} rows=${6}>${() => html`<${Table} label=${t("nav.batches")} columns=${batchColumns()} rows=${pages.items}
      none=${t("batches.none")} noneText=${t(filter === "all" ? "batches.none.text" : "batches.none.filter")}
      noneIcon="batches" />`}</${Loaded}>
    <${Pager} pages=${pages} />
  </${Card}>`;
}
