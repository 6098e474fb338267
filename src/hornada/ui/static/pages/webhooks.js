// Webhooks: where an organization hears of its batches, and how each message fared.
import { call, get, post } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { number, t } from "../lib/i18n.js";
import { useLoad, usePages } from "../lib/load.js";
import { go, to } from "../lib/route.js";
import { Button, Card, Copy, Id, Loaded, Page, Pager, Time } from "../parts/basic.js";
import { Ask, Dialog, Field } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { say } from "../parts/notice.js";
import { Table } from "../parts/table.js";

const ROOT = "/webhook_endpoints";
const EVENTS = ["batch.completed", "batch.failed", "batch.cancelled", "batch.expired"];

export function Webhooks({ id }) {
  return id ? html`<${One} id=${id} />` : html`<${All} />`;
}

const State = ({ status }) => html`<span class="status ${status}"><span class="dot" />${t(`webhook.${status}`)}</span>`;

function Secret({ made, onClose }) {
  return html`<${Dialog} title=${t("webhook.secret")} onClose=${onClose}><div class="form"><div class="alert warn">
    <${Icon} name="warning" /><p>${t("webhook.once")}</p></div>
    <code class="secret" tabindex="0" aria-label=${t("webhook.secret")}>${made.signing_secret}</code><div class="actions end">
    <${Copy} text=${made.signing_secret} /><${Button} kind="primary" onClick=${onClose}>${t("key.kept")}</${Button}></div></div>
    </${Dialog}>`;
}

function Events({ chosen = EVENTS }) {
  return html`<fieldset class="field">
    <legend>${t("webhook.events")}</legend>
    ${EVENTS.map((each) => html`<label class="check" key=${each}>
      <input type="checkbox" name=${each} defaultChecked=${chosen.includes(each)} /><code>${each}</code></label>`)}
  </fieldset>`;
}

const chosen = (given) => EVENTS.filter((each) => each in given);

function All() {
  const pages = usePages((after, abort) => get(ROOT, { limit: 20, after }, abort), []);
  const [adding, add] = useState(false);
  const [made, setMade] = useState(null);
  const create = async (given) => {
    setMade(await post(ROOT, { name: given.name, url: given.url, event_types: chosen(given) }));
    pages.reload();
  };
  const columns = [
    {
      key: "name",
      name: t("webhook"),
      cell: (row) =>
        html`<a class="row-link" href=${to(`webhooks/${row.id}`)}><bdi>${row.name}</bdi></a
          ><span class="note sub"><bdi>${row.url}</bdi></span>`,
    },
    {
      key: "status",
      name: t("status"),
      cell: (row) =>
        html`<${State} status=${row.failing_since && row.status === "enabled" ? "failing" : row.status} />`,
    },
    {
      key: "events",
      name: t("webhook.events"),
      cell: (row) =>
        row.event_types.map((each) => html`<code class="pill" key=${each}>${each.replace("batch.", "")}</code>`),
    },
    { key: "created", name: t("created"), cell: (row) => html`<${Time} at=${row.created_at} relative />` },
  ];
  return html`<${Page} title=${t("nav.webhooks")} lead=${t("webhooks.lead")} actions=${html`<${Button} kind="primary" icon="plus"
    onClick=${() => add(true)}>${t("webhook.add")}</${Button}>`}>
    <${Card} flush label=${t("nav.webhooks")}>
      <${Loaded} of=${pages}>${() => html`<${Table} label=${t("nav.webhooks")} columns=${columns} rows=${pages.items}
        none=${t("webhook.none")} noneText=${t("webhook.none.text")} noneIcon="webhooks" />`}</${Loaded}>
      <${Pager} pages=${pages} />
    </${Card}>
    ${
      adding &&
      html`<${Ask} title=${t("webhook.add")} yes=${t("create")} act=${create} onClose=${() => add(false)}>
      <${Field} label=${t("name")} name="name" value="webhook" required maxlength="200" />
      <${Field} label=${t("webhook.url")} name="url" type="url" required placeholder="https://" hint=${t("webhook.url.hint")} />
        <${Events} />
    </${Ask}>`
    }
    ${made && html`<${Secret} made=${made} onClose=${() => setMade(null)} />`}
  </${Page}>`;
}

function One({ id }) {
  const at = `${ROOT}/${id}`;
  const found = useLoad(
    (abort) => get(at, {}, abort),
    [id],
    () => 10_000,
  );
  const [asked, ask] = useState(null);
  const [made, setMade] = useState(null);
  const endpoint = found.data;
  const change = async (body, text) => {
    await post(at, body);
    say(text);
    found.reload();
  };
  const acts = {
    change: (given) => change({ name: given.name, url: given.url, event_types: chosen(given) }, t("webhook.saved")),
    rotate: async (given) =>
      setMade(await post(`${at}/rotate_secret`, { keep_old_secret_active_for_24_hours: "keep" in given })),
    delete: async () => {
      await call("DELETE", at);
      say(t("webhook.deleted"));
      go("webhooks");
    },
  };
  const test = async () => {
    try {
      const told = await post(`${at}/test`, {});
      say(t("webhook.tested", { status: told.status_code }));
    } catch (error) {
      say(error.message, "bad");
    }
  };
  const back = { href: to("webhooks"), text: t("nav.webhooks") };
  const enabled = endpoint?.status === "enabled";
  return html`<${Page} title=${endpoint?.name ?? t("webhook")} back=${back} lead=${endpoint && html`<span class="facts">
    <${State} status=${endpoint.status} /><bdi>${endpoint.url}</bdi></span>`}
    actions=${endpoint && html`<${Button} kind="primary" onClick=${test}>${t("webhook.test")}</${Button}>
      <${Button} onClick=${() => ask("change")}>${t("change")}</${Button}><${Button}
      onClick=${() => change({ enabled: !enabled }, t("webhook.saved")).catch((error) => say(error.message, "bad"))}>${t(enabled ? "webhook.disable" : "webhook.enable")}</${Button}>
      <${Button} icon="key" onClick=${() => ask("rotate")}>${t("webhook.rotate")}</${Button}>
      <${Button} kind="danger-quiet" icon="trash" onClick=${() => ask("delete")}>${t("delete")}</${Button}>`}>
    <${Loaded} of=${found}>${() =>
      html`${
          endpoint.failing_since &&
          html`<div class="alert warn">
            <${Icon} name="warning" />
            <p>${t("webhook.failing.since")} <${Time} at=${endpoint.failing_since} /></p>
          </div>`
        }<${Deliveries} at=${at} />`}</${Loaded}>
    ${asked === "change" && html`<${Ask} title=${t("change")} yes=${t("save")} act=${acts.change} onClose=${() => ask(null)}>
      <${Field} label=${t("name")} name="name" value=${endpoint.name} required maxlength="200" />
      <${Field} label=${t("webhook.url")} name="url" type="url" value=${endpoint.url} required hint=${t("webhook.url.hint")} />
      <${Events} chosen=${endpoint.event_types} /></${Ask}>`}
    ${asked === "rotate" && html`<${Ask} title=${t("webhook.rotate")} text=${t("webhook.rotate.text")} yes=${t("webhook.rotate")}
      act=${acts.rotate} onClose=${() => ask(null)}><label class="check"><input type="checkbox" name="keep" defaultChecked />
      <span>${t("webhook.rotate.keep")}</span></label></${Ask}>`}
    ${asked === "delete" && html`<${Ask} title=${t("webhook.delete")} text=${t("webhook.delete.text")} yes=${t("delete")} kind="danger"
      act=${acts.delete} onClose=${() => ask(null)} />`}
    ${made && html`<${Secret} made=${made} onClose=${() => setMade(null)} />`}
  </${Page}>`;
}

function Deliveries({ at }) {
  const pages = usePages(
    (after, abort) => get(`${at}/deliveries`, { limit: 20, after }, abort),
    [at],
    () => 5000,
  );
  const again = async (row) => {
    try {
      await post(`${at}/deliveries/${row.id}/redeliver`);
      say(t("delivery.again.done"));
      pages.reload();
    } catch (error) {
      say(error.message, "bad");
    }
  };
  const columns = [
    {
      key: "event",
      name: t("delivery.event"),
      cell: (row) =>
        html`<code class="code">${row.event_type}</code
          >${row.test && html` <span class="tag">${t("delivery.test")}</span>`}<span class="note sub"
            ><${Id} text=${row.data.id} short
          /></span>`,
    },
    {
      key: "status",
      name: t("status"),
      cell: (row) => html`<span class="status ${row.status}"><span class="dot" />${t(`delivery.${row.status}`)}</span>`,
    },
    {
      key: "answer",
      name: t("delivery.answer"),
      cell: (row) =>
        html`${row.response_status ?? "–"}${row.error && html`<span class="note sub"><bdi>${row.error}</bdi></span>`}`,
    },
    { key: "attempts", name: t("delivery.attempts"), kind: "number", cell: (row) => number(row.attempts) },
    {
      key: "at",
      name: t("delivery.at"),
      cell: (row) => html`<${Time} at=${row.last_attempt_at ?? row.created_at} relative />`,
    },
    {
      key: "actions",
      name: "",
      kind: "actions-cell",
      cell: (row) => html`<${Button} kind="quiet tiny" onClick=${() => again(row)}>${t("delivery.again")}</${Button}>`,
    },
  ];
  return html`<${Card} flush title=${t("deliveries")}><${Loaded} of=${pages}>${() => html`<${Table} label=${t("deliveries")}
    columns=${columns} rows=${pages.items} none=${t("delivery.none")} noneIcon="webhooks" />`}</${Loaded}><${Pager} pages=${pages} />
    </${Card}>`;
}
