// Files: inputs and results.
import { call, download, get } from "../lib/api.js";
import { html, useState } from "../lib/html.js";
import { number, size, t } from "../lib/i18n.js";
import { usePages } from "../lib/load.js";
import { narrow, to } from "../lib/route.js";
import { isOperator } from "../lib/session.js";
import { Button, Card, Id, Loaded, Page, Pager, Time } from "../parts/basic.js";
import { Ask } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { say } from "../parts/notice.js";
import { Table } from "../parts/table.js";

const PURPOSES = ["", "batch", "batch_output"];

export function FilesPage({ query }) {
  const purpose = PURPOSES.includes(query.purpose) ? query.purpose : "";
  return html`<${Page} title=${t("nav.files")} lead=${t("files.lead")} actions=${!isOperator() && html`<a class="button primary"
    href=${to("new")}><${Icon} name="upload" />${t("files.upload")}</a>`}>
    <div class="chips" role="group" aria-label=${t("filter")}>${PURPOSES.map((each) => html`<button type="button" key=${each} class="chip"
      aria-pressed=${each === purpose} onClick=${() => narrow({ purpose: each })}>${t(`purpose.${each || "all"}`)}</button>`)}</div>
    <${List} key=${purpose} purpose=${purpose} />
  </${Page}>`;
}

function List({ purpose }) {
  const pages = usePages((after, abort) => get("/files", { limit: 25, after, purpose }, abort), [purpose]);
  const [doomed, doom] = useState(null);
  const remove = async () => {
    await call("DELETE", `/files/${doomed.id}`);
    say(t("files.deleted", { name: doomed.filename }));
    pages.reload();
  };
  const columns = [
    {
      key: "name",
      name: t("file"),
      cell: (file) =>
        html`<bdi class="strong">${file.filename}</bdi><span class="note sub"><${Id} text=${file.id} short /></span>`,
    },
    {
      key: "purpose",
      name: t("purpose"),
      cell: (file) => html`<span class="tag">${t(`purpose.${file.purpose}`)}</span>`,
    },
    { key: "requests", name: t("lines"), kind: "number", cell: (file) => number(file.metadata?.total_requests) },
    { key: "bytes", name: t("size"), kind: "number", cell: (file) => size(file.bytes) },
    { key: "created", name: t("created"), cell: (file) => html`<${Time} at=${file.created_at} relative />` },
    { key: "expires", name: t("expires"), cell: (file) => html`<${Time} at=${file.expires_at} relative />` },
    {
      key: "actions",
      name: "",
      kind: "actions-cell",
      cell: (file) =>
        html`<div class="actions">
          <${Button}
            kind="quiet"
            iconOnly
            icon="download"
            aria-label=${t("files.download", { name: file.filename })}
            title=${t("download")}
            onClick=${() => download(`/files/${file.id}/content`, file.filename).catch((error) => say(error.message, "bad"))}
          />
          <${Button}
            kind="quiet"
            iconOnly
            icon="trash"
            aria-label=${t("files.delete", { name: file.filename })}
            title=${t("delete")}
            onClick=${() => doom(file)}
          />
        </div>`,
    },
  ];
  return html`<${Card} flush label=${t("nav.files")}>
    <${Loaded} of=${pages} rows=${6}>${() => html`<${Table} label=${t("nav.files")} columns=${columns} rows=${pages.items}
      none=${t("files.none")} noneText=${t("files.none.text")} noneIcon="files" />`}</${Loaded}>
    <${Pager} pages=${pages} />
    ${doomed && html`<${Ask} title=${t("files.delete.title")} text=${t("files.delete.text", { name: doomed.filename })} yes=${t("delete")}
      kind="danger" act=${remove} onClose=${() => doom(null)} />`}
  </${Card}>`;
}
