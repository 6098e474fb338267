// What is said of a file that is no JSONL: what it seems to be, how it begins, and the command that makes requests of it.
import { html } from "../lib/html.js";
import { t } from "../lib/i18n.js";
import { clip } from "../lib/lines.js";
import { Icon } from "./icon.js";
import { Visible } from "./visible.js";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const COMMANDS = {
  table: ({ name, column, model }) =>
    `hornada submit ${quoted(name)} --model ${quoted(model ?? "MODEL")} --column ${quoted(column || "COLUMN")}`,
  list: ({ name }) => `jq -c '.[]' ${quoted(name)} > requests.jsonl`,
  spread: ({ name }) => `jq -c . ${quoted(name)} > requests.jsonl`,
};

export function Strange({ strange, file, model }) {
  const command = COMMANDS[strange.kind]?.({ name: file.name, model, ...strange });
  return html`<div class="column">
    <div class="alert bad" role="alert">
      <${Icon} name="warning" />
      <div>
        <p><strong>${t(`strange.${strange.kind}`)}</strong></p>
        <p class="note">${t(`strange.${strange.kind}.help`)}</p>
      </div>
    </div>
    ${command && html`<pre class="raw" tabindex="0" aria-label=${t("strange.command")}><code>${command}</code></pre>`}
    ${
      strange.lines.length > 0 &&
      html`<p class="note">${t("strange.begins")}</p>
        <pre class="raw" tabindex="0" aria-label=${t("strange.begins")}><code>${strange.lines.map(
          (each, at) => html`<${Visible} key=${at} text=${clip(each)} />${"\n"}`,
        )}</code></pre>`
    }
  </div>`;
}
