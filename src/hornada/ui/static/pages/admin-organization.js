// One organization: its members, its keys, its credit and plan.
import { call, get, post } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { money, t } from "../lib/i18n.js";
import { useLoad, usePages } from "../lib/load.js";
import { go } from "../lib/route.js";
import { isOperator, me } from "../lib/session.js";
import { Button, Card, Copy, Figure, Figures, Loaded, Pager, Time } from "../parts/basic.js";
import { Ask, Dialog, Field } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { say } from "../parts/notice.js";
import { Table } from "../parts/table.js";

const DAY_S = 86_400;
const ROLES = ["member", "admin"];

export function Organization({ organization, reload }) {
  const at = `/admin/organizations/${organization.id}`;
  const members = usePages((after, abort) => get(`${at}/members`, { limit: 50, after }, abort), [at]);
  return html` ${isOperator() && html`<${Standing} organization=${organization} at=${at} reload=${reload} />`}
    <div class="columns even">
      <div class="column"><${Keys} at=${at} members=${members.items} /></div>
      <div class="column"><${Members} at=${at} pages=${members} /></div>
    </div>`;
}

function Standing({ organization, at, reload }) {
  const balance = useLoad((abort) => get(`${at}/balance`, {}, abort), [at]);
  const plans = useLoad((abort) => get("/admin/plans", {}, abort), []);
  const [asked, ask] = useState(null);
  const change = async (body, text) => {
    await call("PATCH", at, { body });
    say(text);
    reload();
  };
  const acts = {
    credit: async ({ amount, note }) => {
      await post(`${at}/credits`, { amount: Math.round(Number(amount) * 1e6), ...(note ? { note } : {}) });
      say(t("credit.given"));
      balance.reload();
    },
    plan: ({ plan }) => change({ plan }, t("organization.plan.done", { plan })),
    rename: ({ name }) => change({ name }, t("organization.rename.done")),
    suspend: () => change({ suspended: true }, t("organization.suspend.done")),
    resume: () => change({ suspended: false }, t("organization.resume.done")),
    erase: async ({ name }) => {
      if (name !== organization.name) throw new Error(t("organization.erase.differs"));
      await call("DELETE", at);
      say(t("organization.erase.done"));
      go("admin/organizations");
    },
  };
  const fields = {
    credit: html`<${Field}
        label=${t("credit.amount", { currency: me.value.currency })}
        name="amount"
        type="number"
        min="0"
        step="any"
        required
        hint=${t("credit.hint")}
      /><${Field} label=${t("credit.note")} name="note" maxlength="512" />`,
    plan: html`<${Field}
      label=${t("plan")}
      name="plan"
      value=${organization.plan}
      options=${(plans.data?.data ?? []).map((each) => [each.id, each.id])}
    />`,
    rename: html`<${Field} label=${t("name")} name="name" value=${organization.name} required maxlength="200" />`,
    erase: html`<${Field} label=${t("organization.erase.name", { name: organization.name })} name="name" required />`,
  };
  const suspended = organization.status === "suspended";
  return html`<${Card} label=${t("status")}>
    <${Figures}>
      <${Figure} icon="check" label=${t("status")} value=${t(`organization.${organization.status}`)} kind=${suspended ? "bad" : "good"} />
      <${Figure} icon="coins" label=${t("balance")}
        value=${balance.data?.balance === null ? t("unlimited") : money(balance.data?.balance, me.value.currency)} />
      <${Figure} icon="speed" label=${t("plan")} value=${organization.plan} />
    </${Figures}>
    <div class="actions">
      <${Button} kind="primary" icon="coins" onClick=${() => ask("credit")}>${t("organization.credit")}</${Button}>
      <${Button} onClick=${() => ask("plan")}>${t("organization.plan")}</${Button}>
      <${Button} onClick=${() => ask("rename")}>${t("organization.rename")}</${Button}>
      <${Button} kind=${suspended ? "" : "danger-quiet"}
        onClick=${() => ask(suspended ? "resume" : "suspend")}>${t(suspended ? "organization.resume" : "organization.suspend")}</${Button}>
      <${Button} kind="danger-quiet" icon="trash" onClick=${() => ask("erase")}>${t("organization.erase")}</${Button}>
    </div>
    ${asked && html`<${Ask} title=${t(`organization.${asked}`)}
      text=${{ suspend: t("organization.suspend.text"), erase: t("organization.erase.text") }[asked]} yes=${t(`organization.${asked}`)}
      kind=${asked === "suspend" || asked === "erase" ? "danger" : "primary"} act=${acts[asked]}
      onClose=${() => ask(null)}>${fields[asked]}</${Ask}>`}
  </${Card}>`;
}

function Members({ at, pages }) {
  const [asked, ask] = useState(null);
  const add = async ({ name, role }) => {
    await post(`${at}/members`, { name, role });
    say(t("member.added", { name }));
    pages.reload();
  };
  const change = async ({ role }) => {
    await call("PATCH", `/admin/members/${asked.id}`, { body: { role } });
    say(t("member.changed"));
    pages.reload();
  };
  const remove = async () => {
    await call("DELETE", `/admin/members/${asked.id}`);
    say(t("member.removed", { name: asked.name }));
    pages.reload();
  };
  const role = (value) =>
    html`<${Field}
      label=${t("role")}
      name="role"
      value=${value}
      options=${ROLES.map((each) => [each, t(`role.${each}`)])}
    />`;
  const columns = [
    { key: "name", name: t("member"), cell: (row) => html`<bdi class="strong">${row.name}</bdi>` },
    { key: "role", name: t("role"), cell: (row) => html`<span class="tag">${t(`role.${row.role}`)}</span>` },
    {
      key: "actions",
      name: "",
      kind: "actions-cell",
      cell: (row) =>
        html`<div class="actions"><${Button} kind="quiet tiny" aria-label=${t("member.role.of", { name: row.name })}
          onClick=${() => ask({ ...row, what: "role" })}>${t("role")}</${Button}><${Button} kind="quiet" iconOnly icon="trash"
          aria-label=${t("member.remove.of", { name: row.name })} onClick=${() => ask({ ...row, what: "remove" })} /></div>`,
    },
  ];
  return html`<${Card} flush title=${t("members")} actions=${html`<${Button} icon="plus"
    onClick=${() => ask({ what: "add" })}>${t("member.add")}</${Button}>`}>
    <${Loaded} of=${pages}>${() => html`<${Table} label=${t("members")} columns=${columns} rows=${pages.items} />`}</${Loaded}>
      <${Pager} pages=${pages} />
    ${asked?.what === "add" && html`<${Ask} title=${t("member.add")} yes=${t("create")} act=${add} onClose=${() => ask(null)}>
      <${Field} label=${t("name")} name="name" required maxlength="200" />${role("member")}</${Ask}>`}
    ${asked?.what === "role" && html`<${Ask} title=${t("member.role.of", { name: asked.name })} yes=${t("save")} act=${change}
      onClose=${() => ask(null)}>${role(asked.role)}</${Ask}>`}
    ${asked?.what === "remove" && html`<${Ask} title=${t("member.remove")} text=${t("member.remove.text", { name: asked.name })}
      yes=${t("member.remove")} kind="danger" act=${remove} onClose=${() => ask(null)} />`}
  </${Card}>`;
}

function Keys({ at, members }) {
  const pages = usePages((after, abort) => get(`${at}/keys`, { limit: 20, after }, abort), [at]);
  const [asked, ask] = useState(null);
  const [secret, setSecret] = useState(null);
  const names = Object.fromEntries(members.map((each) => [each.id, each.name]));
  const create = async ({ name, member, days, models, rate }) => {
    const listed = models
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean);
    const made = await post(`${at}/keys`, {
      name,
      member_id: member,
      ...(days ? { expires_at: Math.floor(Date.now() / 1000) + Number(days) * DAY_S } : {}),
      ...(listed.length ? { models: listed } : {}),
      ...(rate ? { requests_per_minute: Number(rate) } : {}),
    });
    pages.reload();
    setSecret(made);
  };
  const revoke = async () => {
    await call("DELETE", `/admin/keys/${asked.id}`);
    say(t("key.revoked", { name: asked.name }));
    pages.reload();
  };
  const ended = (row) =>
    row.revoked_at ? "revoked" : row.expires_at && row.expires_at * 1000 < Date.now() ? "expired" : "active";
  const columns = [
    {
      key: "name",
      name: t("key"),
      cell: (row) =>
        html`<bdi class="strong">${row.name}</bdi
          ><span class="note sub"><bdi>${names[row.member_id] ?? ""}</bdi></span>`,
    },
    {
      key: "state",
      name: t("status"),
      cell: (row) => html`<span class="status ${ended(row)}"><span class="dot" />${t(`key.${ended(row)}`)}</span>`,
    },
    {
      key: "used",
      name: t("key.used"),
      cell: (row) => (row.last_used_at ? html`<${Time} at=${row.last_used_at} relative />` : t("never")),
    },
    {
      key: "actions",
      name: "",
      kind: "actions-cell",
      cell: (row) =>
        ended(row) === "active" &&
        html`<${Button} kind="danger-quiet tiny" aria-label=${t("key.revoke.of", { name: row.name })}
          onClick=${() => ask(row)}>${t("key.revoke")}</${Button}>`,
    },
  ];
  return html`<${Card} flush title=${t("keys")} actions=${html`<${Button} kind="primary" icon="plus" onClick=${() => ask("new")}
    disabled=${!members.length}>${t("key.create")}</${Button}>`}>
    <${Loaded} of=${pages}>${() => html`<${Table} label=${t("keys")} columns=${columns} rows=${pages.items} none=${t("key.none")}
      noneText=${members.length ? undefined : t("key.members")} noneIcon="key" />`}</${Loaded}><${Pager} pages=${pages} />
    ${
      asked === "new" &&
      html`<${Ask} title=${t("key.create")} yes=${t("create")} act=${create} onClose=${() => ask(null)}>
      <${Field} label=${t("name")} name="name" required maxlength="200" />
      <${Field} label=${t("member")} name="member" value=${me.value.member?.id} options=${members.map((each) => [each.id, each.name])} />
      <${Field} label=${t("key.days")} name="days" type="number" min="1" max="36500" hint=${t("key.days.hint")} />
      <${Field} label=${t("key.models")} name="models" hint=${t("key.models.hint")} />
      <${Field} label=${t("key.rate")} name="rate" type="number" min="1" hint=${t("key.rate.hint")} />
    </${Ask}>`
    }
    ${asked && asked !== "new" && html`<${Ask} title=${t("key.revoke")} text=${t("key.revoke.text", { name: asked.name })}
      yes=${t("key.revoke")} kind="danger" act=${revoke} onClose=${() => ask(null)} />`}
    ${secret && html`<${Dialog} title=${t("key.made")} onClose=${() => setSecret(null)}><div class="form"><div class="alert warn">
      <${Icon} name="warning" /><p>${t("key.once")}</p></div><code class="secret" tabindex="0" aria-label=${t("key")}>${secret.key}</code>
      <div class="actions end"><${Copy} text=${secret.key} label=${t("key.copy")} />
      <${Button} kind="primary" onClick=${() => setSecret(null)}>${t("key.kept")}</${Button}></div></div></${Dialog}>`}
  </${Card}>`;
}
