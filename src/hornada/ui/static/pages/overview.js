// The first page: what runs, what ended lately, what is free, what it cost.
import { get } from "../lib/api.js";
import { LIVE, page } from "../lib/batch.js";
import { html } from "../lib/html.js";
import { compact, counted, money, number, t } from "../lib/i18n.js";
import { useLoad } from "../lib/load.js";
import { to } from "../lib/route.js";
import { isOperator, me } from "../lib/session.js";
import { Card, Empty, Figure, Figures, Loaded, Page } from "../parts/basic.js";
import { Icon } from "../parts/icon.js";
import { Load } from "../parts/capacity.js";
import { Plan } from "../parts/plan.js";
import { Table } from "../parts/table.js";
import { batchColumns } from "./batches.js";
import { UsageChart } from "./usage.js";

const FRESH_MS = 4000;

export function Overview() {
  const work = me.value.batches;
  const name = me.value.organization?.name ?? t("role.operator");
  return html`<${Page} title=${t("hello", { name })} lead=${t("overview.lead")}
    actions=${work && !isOperator() && html`<a class="button primary" href=${to("new")}><${Icon} name="plus" />${t("new")}</a>`}>
    ${!isOperator() && html`<${Money} />`}
    <div class="columns">
      <div class="column wide">
        ${
          work &&
          html`<${Recent}
              title=${t("overview.live")}
              query=${{ status: LIVE.join(",") }}
              none=${t("overview.idle")}
              noneText=${t("overview.idle.text")}
            />
            <${Recent}
              title=${t("overview.ended")}
              query=${{ status: "completed,failed,cancelled,expired" }}
              none=${t("batches.none")}
              noneText=${t("overview.ended.none")}
            />`
        }
      </div>
      <div class="column"><${Capacity} />${!isOperator() && html`<${Plan} /><${Spent} />`}</div>
    </div>
  </${Page}>`;
}

function Recent({ title, query, none, noneText }) {
  const recent = useLoad(
    (abort) => page({ ...query, limit: 5 }, abort),
    [query.status],
    () => FRESH_MS,
  );
  return html`<${Card} flush title=${title} actions=${html`<a class="button quiet" href=${to("batches")}>${t("all")}<${Icon} name="right"
    size=${16} /></a>`}>
    <${Loaded} of=${recent} rows=${3}>${(found) => html`<${Table} label=${title}
      columns=${batchColumns().filter((column) => column.key !== "cost")} rows=${found.data} none=${none} noneText=${noneText}
      noneIcon="batches" />`}</${Loaded}>
  </${Card}>`;
}

function Money() {
  const balance = useLoad(
    (abort) => get("/billing/balance", {}, abort),
    [],
    () => 20_000,
  );
  const usage = useLoad(
    (abort) => get("/billing/usage", { group_by: "endpoint" }, abort),
    [],
    () => 20_000,
  );
  const waits = useLoad(
    (abort) => page({ status: LIVE.join(","), limit: 100 }, abort),
    [],
    () => FRESH_MS,
  );
  const found = usage.data?.data ?? [];
  const sum = (field) => found.reduce((all, each) => all + each[field], 0);
  const open = (waits.data?.data ?? []).reduce(
    (all, { request_counts: counts }) => all + counts.total - counts.completed - counts.failed,
    0,
  );
  const running = waits.data?.data.length ?? 0;
  return html`<${Figures}>
    <${Figure} icon="batches" label=${t("overview.running")} value=${number(running)} note=${counted("lines.open", open)} />
    <${Figure} icon="tokens" label=${t("overview.tokens")} value=${compact(sum("total_tokens"))} note=${t("overview.days")} />
    <${Figure} icon="usage" label=${t("overview.spent")} value=${money(usage.data?.amount, me.value.currency)} note=${t("overview.days")} />
    <${Figure} icon="coins" label=${t("balance")}
      value=${balance.data?.balance === null ? t("unlimited") : money(balance.data?.balance, me.value.currency)}
      kind=${balance.data?.balance === 0 ? "bad" : ""} />
  </${Figures}>`;
}

function Capacity() {
  const load = useLoad(
    (abort) => get("/models/capacity", {}, abort),
    [],
    () => FRESH_MS,
  );
  return html`<${Card} title=${t("nav.models")} actions=${html`<a class="button quiet" href=${to("models")}>${t("all")}<${Icon} name="right"
    size=${16} /></a>`}>
    <${Loaded} of=${load}>${({ data }) =>
      data.length
        ? html`<ul class="loads">
            ${data.slice(0, 6).map((model) => html`<li key=${model.id}><${Load} model=${model} small /></li>`)}
          </ul>`
        : html`<${Empty} title=${t("models.none")} text=${t("models.none.text")} icon="models" />`}</${Loaded}>
  </${Card}>`;
}

function Spent() {
  const usage = useLoad(
    (abort) => get("/billing/usage", { group_by: "day" }, abort),
    [],
    () => 60_000,
  );
  return html`<${Card} title=${t("overview.daily")}>
    <${Loaded} of=${usage}>${(found) => html`<${UsageChart} found=${found} by="amount" days=${14} />`}</${Loaded}></${Card}>`;
}
