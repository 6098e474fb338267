// Every organization's batches, and who did what.
import { get } from "../lib/api.js";
import { live } from "../lib/batch.js";
import { html, useState } from "../lib/html.js";
import { t } from "../lib/i18n.js";
import { useLoad, usePages } from "../lib/load.js";
import { Card, Id, Loaded, Pager, Time } from "../parts/basic.js";
import { Field } from "../parts/dialog.js";
import { Table } from "../parts/table.js";
import { batchColumns } from "./batches.js";

function Chosen({ title, children }) {
  const [organization, set] = useState("");
  const known = useLoad((abort) => get("/admin/organizations", { limit: 100 }, abort), []);
  const found = known.data?.data ?? [];
  const names = Object.fromEntries(found.map((each) => [each.id, each.name]));
  return html`<${Card} flush title=${title} actions=${html`<${Field} label=${t("organization")} name="organization" value=${organization}
    options=${[["", t("all")], ...found.map((each) => [each.id, each.name])]}
    onChange=${(event) => set(event.target.value)} />`}>${children(organization, names)}</${Card}>`;
}

export function EveryBatch() {
  return html`<${Chosen} title=${t("admin.batches")}>${(organization, names) => html`<${Batches} key=${organization}
    organization=${organization} names=${names} />`}</${Chosen}>`;
}

function Batches({ organization, names }) {
  const pages = usePages(
    (after, abort) => get("/admin/batches", { limit: 25, after, organization }, abort),
    [organization],
    (data) => (data?.data.some(live) ? 3000 : 15_000),
  );
  const columns = batchColumns();
  columns.splice(1, 0, {
    key: "organization",
    name: t("organization"),
    cell: (row) => html`<bdi>${names[row.organization_id] ?? row.organization_id}</bdi>`,
  });
  return html`<${Loaded} of=${pages} rows=${6}>${() => html`<${Table} label=${t("admin.batches")} columns=${columns} rows=${pages.items}
    none=${t("batches.none")} noneIcon="batches" />`}</${Loaded}><${Pager} pages=${pages} />`;
}

export function Audit() {
  return html`<${Chosen} title=${t("admin.audit")}>${(organization, names) => html`<${Entries} key=${organization}
    organization=${organization} names=${names} />`}</${Chosen}>`;
}

function Entries({ organization, names }) {
  const pages = usePages(
    (after, abort) => get("/admin/audit", { limit: 25, after, organization }, abort),
    [organization],
  );
  const columns = [
    { key: "at", name: t("audit.at"), cell: (row) => html`<${Time} at=${row.created_at} />` },
    { key: "action", name: t("audit.action"), cell: (row) => html`<code class="code">${row.action}</code>` },
    {
      key: "actor",
      name: t("audit.actor"),
      cell: (row) => (row.actor === "operator" ? t("role.operator") : html`<${Id} text=${row.actor} short />`),
    },
    {
      key: "organization",
      name: t("organization"),
      cell: (row) => html`<bdi>${names[row.organization_id] ?? row.organization_id ?? "–"}</bdi>`,
    },
    { key: "target", name: t("audit.target"), cell: (row) => html`<${Id} text=${row.target} short />` },
    {
      key: "detail",
      name: t("audit.detail"),
      cell: (row) =>
        Object.keys(row.detail).length
          ? html`<code class="detail"
              >${Object.entries(row.detail)
                .filter(([, value]) => value !== null)
                .map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`)
                .join(" · ")}</code
            >`
          : "–",
    },
  ];
  return html`<${Loaded} of=${pages} rows=${6}>${() => html`<${Table} label=${t("admin.audit")} columns=${columns} rows=${pages.items}
    none=${t("audit.none")} />`}</${Loaded}><${Pager} pages=${pages} />`;
}
