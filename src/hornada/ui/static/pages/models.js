// Models with their live capacity; the operator pauses and resumes them here.
import { get, post } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { money, number, t } from "../lib/i18n.js";
import { useLoad } from "../lib/load.js";
import { isOperator, me } from "../lib/session.js";
import { Button, Card, Empty, Loaded, Page } from "../parts/basic.js";
import { Load } from "../parts/capacity.js";
import { Ask } from "../parts/dialog.js";
import { say } from "../parts/notice.js";

export function Models() {
  const load = useLoad(
    (abort) => get("/models/capacity", {}, abort),
    [],
    () => 2000,
  );
  const aliases = useLoad((abort) => get("/models/aliases", {}, abort), []);
  const [asked, ask] = useState(null);
  const act = async () => {
    const verb = asked.paused ? "resume" : "pause";
    await post(`/admin/models/${encodeURIComponent(asked.id)}/${verb}`, {});
    say(t(`model.${verb}.done`, { name: asked.id }));
    load.reload();
  };
  return html`<${Page} title=${t("nav.models")} lead=${t("models.lead")}>
    <${Loaded} of=${load}>${({ data }) =>
      data.length
        ? html`<div class="tiles">
            ${data.map((model) => html`<${Tile} key=${model.id} model=${model}
              names=${(aliases.data?.data ?? []).filter((each) => each.model === model.id)} ask=${ask} />`)}
          </div>`
        : html`<${Card} label=${t("nav.models")}><${Empty} title=${t("models.none")} text=${t("models.none.text")} icon="models" />
          </${Card}>`}</${Loaded}>
    ${asked && html`<${Ask} title=${t(asked.paused ? "model.resume" : "model.pause")}
      text=${t(asked.paused ? "model.resume.text" : "model.pause.text", { name: asked.id })}
      yes=${t(asked.paused ? "model.resume" : "model.pause")} act=${act} onClose=${() => ask(null)} />`}
  </${Page}>`;
}

function Tile({ model, names, ask }) {
  const { input, output } = model.price;
  return html`<${Card} label=${model.id} kind="tile">
    <${Load} model=${model} />
    ${model.why.includes(",") && html`<p class="note why" lang="en">${model.why}</p>`}
    <dl class="pairs">
      <dt>${t("model.price")}</dt>
        <dd>${input || output ? t("model.price.text", { input: money(input, me.value.currency), output: money(output, me.value.currency) }) : t("model.price.none")}</dd>
      <dt>${t("model.capacity")}</dt><dd>${model.auto ? t("model.auto", { n: number(model.capacity) }) : number(model.capacity)}</dd>
      <dt>${t("model.endpoints")}</dt>
        <dd>${model.endpoints.map((each) => html`<code class="pill" key=${each}>${each.replace("/v1/", "")}</code>`)}</dd>
      ${
        names.length > 0 &&
        html`<dt>${t("model.aliases")}</dt>
          <dd>${names.map((each) => html`<code class="pill" key=${each.id}>${each.alias}</code>`)}</dd>`
      }
    </dl>
    ${isOperator() && html`<div class="actions"><${Button} icon=${model.paused ? "play" : "pause"}
      onClick=${() => ask(model)}>${t(model.paused ? "model.resume" : "model.pause")}</${Button}></div>`}
  </${Card}>`;
}
