// Plans: what an organization may use.
import { call, get } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { number, size, t } from "../lib/i18n.js";
import { useLoad } from "../lib/load.js";
import { Button, Card, Loaded } from "../parts/basic.js";
import { Ask, Field } from "../parts/dialog.js";
import { say } from "../parts/notice.js";
import { Table } from "../parts/table.js";

const NUMBERS = {
  requests_per_minute: 600,
  active_batches: 50,
  queued_lines: 2_000_000,
  storage_bytes: 10 * 1024 ** 3,
  weight: 1,
};

export function Plans() {
  const plans = useLoad((abort) => get("/admin/plans", {}, abort), []);
  const [asked, ask] = useState(null);
  const put = async ({ id, ...given }) => {
    await call("PUT", `/admin/plans/${encodeURIComponent(asked.id ?? id)}`, {
      body: Object.fromEntries(Object.entries(given).map(([name, text]) => [name, Number(text)])),
    });
    say(t("plan.saved"));
    plans.reload();
  };
  const remove = async () => {
    await call("DELETE", `/admin/plans/${encodeURIComponent(asked.id)}`);
    say(t("plan.removed"));
    plans.reload();
  };
  const columns = [
    {
      key: "id",
      name: t("plan"),
      cell: (row) => html`<bdi class="strong">${row.id}</bdi><span class="note sub">${t(`plan.${row.source}`)}</span>`,
    },
    ...Object.keys(NUMBERS).map((name) => ({
      key: name,
      name: t(`plan.${name}`),
      kind: "number",
      cell: (row) => (name === "storage_bytes" ? size(row[name]) : number(row[name])),
    })),
    {
      key: "actions",
      name: "",
      kind: "actions-cell",
      cell: (row) =>
        row.source === "database" &&
        html`<div class="actions"><${Button} kind="quiet tiny" aria-label=${t("plan.change.of", { name: row.id })}
          onClick=${() => ask(row)}>${t("change")}</${Button}><${Button} kind="quiet" iconOnly icon="trash"
          aria-label=${t("plan.remove.of", { name: row.id })} onClick=${() => ask({ ...row, doomed: true })} /></div>`,
    },
  ];
  return html`<${Card} flush title=${t("admin.plans")} actions=${html`<${Button} kind="primary" icon="plus"
    onClick=${() => ask({})}>${t("plan.create")}</${Button}>`}>
    <${Loaded} of=${plans}>${({ data }) => html`<${Table} label=${t("admin.plans")} columns=${columns} rows=${data} />`}</${Loaded}>
    ${asked?.doomed && html`<${Ask} title=${t("plan.remove")} text=${t("plan.remove.text", { name: asked.id })} yes=${t("delete")}
      kind="danger" act=${remove} onClose=${() => ask(null)} />`}
    ${
      asked &&
      !asked.doomed &&
      html`<${Ask} title=${asked.id ?? t("plan.create")} yes=${t("save")} act=${put} onClose=${() => ask(null)}>
      ${!asked.id && html`<${Field} label=${t("name")} name="id" required maxlength="200" />`}
      ${Object.entries(NUMBERS).map(([name, value]) => html`<${Field} key=${name} label=${t(`plan.${name}`)} name=${name} type="number"
        min=${name === "weight" || name === "requests_per_minute" ? 1 : 0} value=${asked[name] ?? value} required />`)}
    </${Ask}>`
    }
  </${Card}>`;
}
