// Administration: tabs of what the caller may look after, and the page of one organization.
import { call, get, post } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { t } from "../lib/i18n.js";
import { useLoad, usePages } from "../lib/load.js";
import { to } from "../lib/route.js";
import { isOperator, me } from "../lib/session.js";
import { Button, Card, Loaded, Page, Pager, Time } from "../parts/basic.js";
import { Ask, Field } from "../parts/dialog.js";
import { say } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Aliases, CatalogModels } from "./admin-catalog.js";
import { Audit, EveryBatch } from "./admin-oversight.js";
import { Organization } from "./admin-organization.js";
import { Plans } from "./admin-plans.js";

const TABS = {
  organizations: Organizations,
  plans: Plans,
  models: CatalogModels,
  aliases: Aliases,
  batches: EveryBatch,
  audit: Audit,
};

export function Admin({ tab }) {
  if (!isOperator()) return html`<${OrganizationPage} id=${me.value.organization.id} own />`;
  const chosen = tab in TABS ? tab : "organizations";
  const Shown = TABS[chosen];
  return html`<${Page} title=${t("nav.admin")} lead=${t("admin.lead")}>
    <nav class="tabs" aria-label=${t("nav.admin")}>${Object.keys(TABS).map((each) => html`<a key=${each} href=${to(`admin/${each}`)}
      aria-current=${each === chosen ? "page" : undefined}>${t(`admin.${each}`)}</a>`)}</nav>
    <${Shown} />
  </${Page}>`;
}

export function OrganizationPage({ id, own }) {
  const found = useLoad((abort) => call("GET", `/admin/organizations/${id}`, { signal: abort }), [id]);
  return html`<${Page} title=${found.data?.name ?? t("organization")} lead=${own && t("admin.own")}
    back=${own ? undefined : { href: to("admin/organizations"), text: t("admin.organizations") }}>
    <${Loaded} of=${found}>${(organization) => html`<${Organization} organization=${organization} reload=${found.reload} />`}</${Loaded}>
  </${Page}>`;
}

function Organizations() {
  const pages = usePages((after, abort) => get("/admin/organizations", { limit: 25, after }, abort), []);
  const plans = useLoad((abort) => get("/admin/plans", {}, abort), []);
  const [adding, add] = useState(false);
  const create = async ({ name, plan }) => {
    await post("/admin/organizations", { name, plan });
    say(t("organization.created", { name }));
    pages.reload();
  };
  const columns = [
    {
      key: "name",
      name: t("organization"),
      cell: (row) => html`<a class="row-link" href=${to(`admin/organizations/${row.id}`)}><bdi>${row.name}</bdi></a>`,
    },
    {
      key: "status",
      name: t("status"),
      cell: (row) =>
        html`<span class="status ${row.status}"><span class="dot" />${t(`organization.${row.status}`)}</span>`,
    },
    { key: "plan", name: t("plan"), cell: (row) => html`<span class="tag">${row.plan}</span>` },
    { key: "created", name: t("created"), cell: (row) => html`<${Time} at=${row.created_at} relative />` },
  ];
  return html`<${Card} flush title=${t("admin.organizations")} actions=${html`<${Button} kind="primary" icon="plus"
    onClick=${() => add(true)}>${t("organization.create")}</${Button}>`}>
    <${Loaded} of=${pages}>${() => html`<${Table} label=${t("admin.organizations")} columns=${columns} rows=${pages.items}
      none=${t("organization.none")} noneIcon="admin" />`}</${Loaded}>
    <${Pager} pages=${pages} />
    ${
      adding &&
      html`<${Ask} title=${t("organization.create")} yes=${t("create")} act=${create} onClose=${() => add(false)}>
      <${Field} label=${t("name")} name="name" required maxlength="200" />
      <${Field} label=${t("plan")} name="plan" value="default"
        options=${(plans.data?.data ?? [{ id: "default" }]).map((each) => [each.id, each.id])} />
    </${Ask}>`
    }
  </${Card}>`;
}
