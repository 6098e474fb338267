// What was used and what it cost, by day, model and endpoint.
import { get } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { compact, day, money, number, t } from "../lib/i18n.js";
import { useLoad } from "../lib/load.js";
import { me } from "../lib/session.js";
import { Card, Empty, Figure, Figures, Loaded, Page, Time } from "../parts/basic.js";
import { Chart } from "../parts/chart.js";
import { Table } from "../parts/table.js";

const SPANS = [7, 30, 90];
const DAY_MS = 86_400_000;
const iso = (moment) => new Date(moment).toISOString().slice(0, 10);
const shown = (by) => (value) => (by === "amount" ? money(value, me.value.currency) : compact(value));

// The days up to today, each with its sum of `field`; days without use are there too.
function daily(found, field, days) {
  const names = Array.from({ length: days }, (_, at) => iso(Date.now() - (days - 1 - at) * DAY_MS));
  const sums = Object.fromEntries(names.map((name) => [name, 0]));
  for (const each of found) if (each.day in sums) sums[each.day] += each[field];
  return { names, values: names.map((name) => sums[name]) };
}

export function UsageChart({ found, by, days }) {
  const { names, values } = daily(found.data, by, days);
  const label = t(`usage.daily.${by}`);
  const sum = values.reduce((all, each) => all + each, 0);
  const scale = by === "amount" ? 1e6 : 1;
  const texts = { y: (value) => shown(by)(value * scale) };
  return html`<${Chart}
    label=${label}
    summary=${t("usage.summary", { sum: shown(by)(sum), days })}
    xs=${names.map((_, at) => at)}
    names=${names.map(day)}
    series=${[{ label: t(`usage.${by}`), colour: by === "amount" ? "accent" : "chart-2", bars: true, values: values.map((value) => value / scale) }]}
    texts=${texts}
  />`;
}

function sums(found, part) {
  const groups = new Map();
  for (const each of found) {
    const sum = groups.get(each[part]) ?? {
      id: each[part],
      requests: 0,
      input_tokens: 0,
      output_tokens: 0,
      amount: 0,
      estimated: false,
    };
    for (const field of ["requests", "input_tokens", "output_tokens", "amount"]) sum[field] += each[field];
    sum.estimated ||= each.estimated;
    groups.set(each[part], sum);
  }
  return [...groups.values()].sort((one, other) => other.amount - one.amount || other.requests - one.requests);
}

function Sums({ found, part }) {
  const title = t(`usage.by.${part}`);
  const columns = [
    {
      key: "id",
      name: t(part),
      cell: (row) =>
        html`<bdi class="strong">${row.id}</bdi
          >${row.estimated && html`<span class="tag" title=${t("usage.estimated.text")}>${t("usage.estimated")}</span>`}`,
    },
    { key: "requests", name: t("usage.requests"), kind: "number", cell: (row) => number(row.requests) },
    { key: "input", name: t("usage.input"), kind: "number", cell: (row) => number(row.input_tokens) },
    { key: "output", name: t("usage.output"), kind: "number", cell: (row) => number(row.output_tokens) },
    { key: "amount", name: t("cost"), kind: "number", cell: (row) => money(row.amount, me.value.currency) },
  ];
  return html`<${Card} flush title=${title}>
    <${Table} label=${title} columns=${columns} rows=${sums(found, part)} none=${t("usage.none")} noneIcon="usage" /></${Card}>`;
}

export function UsagePage() {
  const [days, setDays] = useState(30);
  const [by, setBy] = useState("amount");
  const from = iso(Date.now() - (days - 1) * DAY_MS);
  const usage = useLoad(
    (abort) => get("/billing/usage", { from }, abort),
    [from],
    () => 30_000,
  );
  const balance = useLoad(
    (abort) => get("/billing/balance", {}, abort),
    [],
    () => 30_000,
  );
  const last = balance.data?.last_event;
  const sum = (field) => (usage.data?.data ?? []).reduce((all, each) => all + each[field], 0);
  return html`<${Page} title=${t("nav.usage")} lead=${t("usage.lead")}>
    <${Figures}>
      <${Figure} icon="coins" label=${t("balance")}
        value=${balance.data?.balance === null ? t("unlimited") : money(balance.data?.balance, me.value.currency)}
        note=${last && html`${t("usage.last")} <${Time} at=${last.created_at} relative />`} />
      <${Figure} icon="usage" label=${t("usage.amount")} value=${money(usage.data?.amount, me.value.currency)}
        note=${t("usage.days", { n: days })} />
      <${Figure} icon="batches" label=${t("usage.requests")} value=${compact(sum("requests"))} note=${t("usage.days", { n: days })} />
      <${Figure} icon="tokens" label=${t("usage.tokens")} value=${compact(sum("total_tokens"))}
        note=${t("usage.split", { input: compact(sum("input_tokens")), output: compact(sum("output_tokens")) })} />
    </${Figures}>
    <${Card} title=${t(`usage.daily.${by}`)} actions=${html`<div
        class="chips"
        role="group"
        aria-label=${t("usage.measure")}
      >
        ${["amount", "total_tokens", "requests"].map((each) => html`<button type="button" class="chip" key=${each}
          aria-pressed=${each === by} onClick=${() => setBy(each)}>${t(`usage.${each}`)}</button>`)}
      </div>
      <div class="chips" role="group" aria-label=${t("usage.span")}>
        ${SPANS.map((each) => html`<button type="button" class="chip" key=${each} aria-pressed=${each === days}
          onClick=${() => setDays(each)}>${t("usage.span.days", { n: each })}</button>`)}
      </div>`}>
      <${Loaded} of=${usage}>${(found) => (found.data.length ? html`<${UsageChart} found=${found} by=${by} days=${days} />` : html`<${Empty}
        title=${t("usage.none")} text=${t("usage.none.text")} icon="usage" />`)}</${Loaded}>
    </${Card}>
    ${usage.data && html`<${Sums} found=${usage.data.data} part="model" /><${Sums} found=${usage.data.data} part="endpoint" />`}
  </${Page}>`;
}
