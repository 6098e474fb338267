// The catalog: models with their servers and prices, and aliases.
import { call, get } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { money, number, t } from "../lib/i18n.js";
import { useLoad } from "../lib/load.js";
import { me } from "../lib/session.js";
import { Button, Card, Loaded } from "../parts/basic.js";
import { Ask, Field } from "../parts/dialog.js";
import { say } from "../parts/notice.js";
import { Table } from "../parts/table.js";

const at = (name, rest = "") => `/admin/models/${encodeURIComponent(name)}${rest}`;
const micros = (text) => Math.round(Number(text || 0) * 1e6);
const units = (value) => (value === null || value === undefined ? "" : String(value / 1e6));

export function CatalogModels() {
  const models = useLoad(
    (abort) => get("/admin/models", {}, abort),
    [],
    () => 10_000,
  );
  const [asked, ask] = useState(null);
  const acts = {
    add: async ({ name, upstream, capacity }) => {
      await call("PUT", at(name), { body: { upstream, capacity: capacity ? Number(capacity) : "auto" } });
      say(t("model.added", { name }));
    },
    price: async ({ input, cached, output }) => {
      const body = {
        input: micros(input),
        output: micros(output),
        ...(cached === "" ? {} : { cached_input: micros(cached) }),
      };
      await call("PUT", at(asked.name, "/price"), { body });
      say(t("model.price.done"));
    },
    capacity: async ({ capacity, batch }) => {
      const { object, paused, created_at: created, ...rest } = asked.model;
      await call("PUT", at(asked.name), {
        body: { ...rest, capacity: capacity ? Number(capacity) : "auto", batch: batch === "" ? true : Number(batch) },
      });
      say(t("model.saved"));
    },
    retire: async () => {
      await call("DELETE", at(asked.name));
      say(t("model.retired", { name: asked.name }));
    },
    pause: () => call("POST", at(asked.name, "/pause"), { body: {} }),
    resume: () => call("POST", at(asked.name, "/resume"), { body: {} }),
  };
  const act = async (given) => {
    await acts[asked.what](given);
    models.reload();
  };
  const price = (value) => (value ? money(value, me.value.currency) : "–");
  const columns = [
    {
      key: "name",
      name: t("model"),
      cell: (row) =>
        html`<bdi class="strong">${row.name}</bdi
          >${row.paused && html`<span class="tag paused">${t("model.paused")}</span>`}<span class="note sub"
            >${row.upstream.map((each) => each.url).join(", ")}</span
          >`,
    },
    {
      key: "capacity",
      name: t("model.capacity"),
      kind: "number",
      cell: (row) => (row.capacity === "auto" ? t("auto") : number(row.capacity)),
    },
    {
      key: "batch",
      name: t("model.share"),
      kind: "number",
      cell: (row) => (row.batch === true ? t("model.share.all") : number(row.batch)),
    },
    { key: "input", name: t("price.input"), kind: "number", cell: (row) => price(row.price.input) },
    { key: "output", name: t("price.output"), kind: "number", cell: (row) => price(row.price.output) },
    {
      key: "actions",
      name: "",
      kind: "actions-cell",
      cell: (row) =>
        html`<div class="actions">
          ${["price", "capacity", row.paused ? "resume" : "pause", "retire"].map((what) => html`<${Button} key=${what}
            kind=${what === "retire" ? "danger-quiet tiny" : "quiet tiny"} aria-label=${`${t(`model.do.${what}`)}: ${row.name}`}
            onClick=${() => ask({ what, name: row.name, model: row })}>${t(`model.do.${what}`)}</${Button}>`)}
        </div>`,
    },
  ];
  const model = asked?.model;
  const fields = {
    add: html`<${Field} label=${t("name")} name="name" required maxlength="200" /><${Field}
        label=${t("model.upstream")}
        name="upstream"
        type="url"
        required
        placeholder="http://127.0.0.1:8000/v1"
      /><${Field}
        label=${t("model.capacity")}
        name="capacity"
        type="number"
        min="1"
        hint=${t("model.capacity.hint")}
      />`,
    price:
      model &&
      html`<${Field}
          label=${t("price.input.of", { currency: me.value.currency })}
          name="input"
          type="number"
          min="0"
          step="any"
          value=${units(model.price.input)}
        /><${Field}
          label=${t("price.cached.of", { currency: me.value.currency })}
          name="cached"
          type="number"
          min="0"
          step="any"
          value=${units(model.price.cached_input)}
          hint=${t("price.cached.hint")}
        /><${Field}
          label=${t("price.output.of", { currency: me.value.currency })}
          name="output"
          type="number"
          min="0"
          step="any"
          value=${units(model.price.output)}
        />`,
    capacity:
      model &&
      html`<${Field}
          label=${t("model.capacity")}
          name="capacity"
          type="number"
          min="1"
          value=${model.capacity === "auto" ? "" : model.capacity}
          hint=${t("model.capacity.hint")}
        /><${Field}
          label=${t("model.share")}
          name="batch"
          type="number"
          min="0"
          value=${model.batch === true ? "" : model.batch}
          hint=${t("model.share.hint")}
        />`,
  };
  const texts = { pause: "model.pause.text", resume: "model.resume.text", retire: "model.retire.text" };
  return html`<${Card} flush title=${t("admin.models")} note=${t("admin.models.note")} actions=${html`<${Button} kind="primary" icon="plus"
    onClick=${() => ask({ what: "add" })}>${t("model.add")}</${Button}>`}>
    <${Loaded} of=${models}>${({ data }) => html`<${Table} label=${t("admin.models")} columns=${columns} rows=${data}
      id=${(row) => row.name} none=${t("models.none")} noneText=${t("models.none.text")} noneIcon="models" />`}</${Loaded}>
    ${asked && html`<${Ask} title=${`${t(`model.do.${asked.what}`)}${asked.name ? ` · ${asked.name}` : ""}`}
      text=${texts[asked.what] && t(texts[asked.what], { name: asked.name })} yes=${t(`model.do.${asked.what}`)}
      kind=${asked.what === "retire" ? "danger" : "primary"} act=${act} onClose=${() => ask(null)}>${fields[asked.what]}</${Ask}>`}
  </${Card}>`;
}

export function Aliases() {
  const aliases = useLoad((abort) => get("/admin/aliases", {}, abort), []);
  const models = useLoad((abort) => get("/admin/models", {}, abort), []);
  const [asked, ask] = useState(null);
  const path = (name) => `/admin/aliases/${encodeURIComponent(name)}`;
  const put = async ({ alias, model }) => {
    await call("PUT", path(asked.alias ?? alias), { body: { model } });
    say(t("alias.saved"));
    aliases.reload();
  };
  const remove = async () => {
    await call("DELETE", path(asked.alias));
    say(t("alias.removed"));
    aliases.reload();
  };
  const columns = [
    { key: "alias", name: t("alias"), cell: (row) => html`<bdi class="strong">${row.alias}</bdi>` },
    { key: "model", name: t("model"), cell: (row) => html`<bdi>${row.model}</bdi>` },
    {
      key: "actions",
      name: "",
      kind: "actions-cell",
      cell: (row) =>
        html`<div class="actions"><${Button} kind="quiet tiny" aria-label=${t("alias.move.of", { name: row.alias })}
          onClick=${() => ask(row)}>${t("alias.move")}</${Button}><${Button} kind="quiet" iconOnly icon="trash"
          aria-label=${t("alias.remove.of", { name: row.alias })} onClick=${() => ask({ ...row, doomed: true })} /></div>`,
    },
  ];
  return html`<${Card} flush title=${t("admin.aliases")} note=${t("admin.aliases.note")} actions=${html`<${Button} kind="primary"
    icon="plus" onClick=${() => ask({})} disabled=${!models.data?.data.length}>${t("alias.add")}</${Button}>`}>
    <${Loaded} of=${aliases}>${({ data }) => html`<${Table} label=${t("admin.aliases")} columns=${columns} rows=${data}
      none=${t("alias.none")} />`}</${Loaded}>
    ${asked?.doomed && html`<${Ask} title=${t("alias.remove")} text=${t("alias.remove.text", { name: asked.alias })} yes=${t("delete")}
      kind="danger" act=${remove} onClose=${() => ask(null)} />`}
    ${
      asked &&
      !asked.doomed &&
      html`<${Ask} title=${asked.alias ?? t("alias.add")} yes=${t("save")} act=${put} onClose=${() => ask(null)}>
      ${!asked.alias && html`<${Field} label=${t("alias")} name="alias" required maxlength="200" />`}
      <${Field} label=${t("model")} name="model" value=${asked.model}
        options=${(models.data?.data ?? []).map((each) => [each.name, each.name])} />
    </${Ask}>`
    }
  </${Card}>`;
}
