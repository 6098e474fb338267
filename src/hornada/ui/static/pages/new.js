// A new batch in three steps on one page: the file, its check, the create.
import { call, get, post, upload } from "../lib/api.js";
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { compact, counted, money, number, percent, size, t } from "../lib/i18n.js";
import { infer, read } from "../lib/lines.js";
import { useLoad } from "../lib/load.js";
import { go, to } from "../lib/route.js";
import { Button, Card, Fault, Page } from "../parts/basic.js";
import { Field } from "../parts/dialog.js";
import { Findings } from "../parts/findings.js";
import { Icon } from "../parts/icon.js";
import { say } from "../parts/notice.js";
import { Strange } from "../parts/strange.js";

const ENDPOINTS = [
  "/v1/chat/completions",
  "/v1/completions",
  "/v1/embeddings",
  "/v1/responses",
  "/v1/rerank",
  "/v1/moderations",
];
const LOOKED_AT = 200; // MiB: larger files are not counted here

export function NewBatch() {
  const [file, setFile] = useState(null);
  const [seen, setSeen] = useState({});
  const [endpoint, setEndpoint] = useState("");
  const [name, setName] = useState("");
  const [step, setStep] = useState({ at: "choose" });
  const abort = useRef(null);
  const chosen = useRef(null);
  const models = useLoad((stop) => get("/models/capacity", {}, stop), []);

  const choose = async (found) => {
    setStep({ at: "choose" });
    chosen.current = found;
    setSeen({});
    setFile(found);
    setName((found.name ?? "").replace(/\.(jsonl|ndjson|json|txt)$/i, ""));
    const told = await infer(found);
    if (chosen.current !== found) return;
    setSeen(told);
    if (told.strange) return;
    if (ENDPOINTS.includes(told.endpoint)) setEndpoint(told.endpoint);
    else setEndpoint((before) => before || ENDPOINTS[0]);
    if (found.size < LOOKED_AT << 20)
      read(found, [], true).then(
        ({ lines }) => chosen.current === found && setSeen((before) => ({ ...before, lines })),
        () => {},
      );
  };
  const submit = async (event) => {
    event.preventDefault();
    const run = event.submitter?.value !== "check";
    const created = name.trim();
    abort.current = new AbortController();
    try {
      setStep({ at: "upload", part: 0 });
      const stored = await send(
        chosen.current,
        (part) => setStep({ at: part < 1 ? "upload" : "check", part }),
        abort.current.signal,
      );
      setStep({ at: "check" });
      const report = await call("POST", "/batches/validate", { body: { input_file_id: stored.id, endpoint }, harmless: true });
      if (!report.valid || !run) return setStep({ at: report.valid ? "good" : "faults", report });
      setStep({ at: "create" });
      const batch = await post("/batches", {
        input_file_id: stored.id,
        endpoint,
        completion_window: "24h",
        ...(created ? { metadata: { name: created } } : {}),
      });
      say(t("new.created"));
      go(`batches/${batch.id}`);
    } catch (error) {
      setStep(error.name === "AbortError" ? { at: "choose" } : { at: "choose", error });
    }
    return undefined;
  };
  const busy = ["upload", "check", "create"].includes(step.at);
  return html`<${Page} title=${t("new")} lead=${t("new.lead")} back=${{ href: to("batches"), text: t("nav.batches") }}>
    <form class="new-form" onSubmit=${submit}>
      <${Drop} file=${file} seen=${seen} choose=${choose} disabled=${busy} />
      ${
        file &&
        !seen.strange &&
        html`<${Card} label=${t("new.settings")}>
        <div class="grid">
          <${Field} label=${t("new.name")} name="name" value=${name} maxlength="512" hint=${t("new.name.hint")}
            onInput=${(event) => setName(event.target.value)} />
          <${Field} label=${t("endpoint")} name="endpoint" value=${endpoint} options=${ENDPOINTS.map((each) => [each, each])}
            hint=${t(seen.endpoint ? "new.endpoint.found" : "new.endpoint.guess")} onChange=${(event) => setEndpoint(event.target.value)} />
        </div>
        <${Known} seen=${seen} models=${models.data?.data} />
        ${step.at === "good" && html`<${Good} report=${step.report} />`}
        <div aria-live="polite">${
          busy &&
          html`<div class="working">
            <p>${t(`new.${step.at}`, { part: percent(step.part ?? 0) })}</p>
            <div
              class="progress big ${step.at === "upload" ? "" : "endless"}"
              role="progressbar"
              aria-label=${t(`new.${step.at}`, { part: "" })}
              aria-valuemin="0"
              aria-valuemax="100"
              aria-valuenow=${step.at === "upload" ? Math.round(100 * step.part) : undefined}
            >
              <span class="done" style=${{ width: step.at === "upload" ? `${100 * step.part}%` : "100%" }} />
            </div>
          </div>`
        }</div>
        <${Fault} error=${step.error} />
        <div class="actions end">
          ${busy ? html`<${Button} onClick=${() => abort.current?.abort()}>${t("new.stop")}</${Button}>` : html`<${Button}
            onClick=${() => setFile(null)}>${t("new.other")}</${Button}>`}
          <${Button} type="submit" value="check" icon="check" busy=${busy}>${t("new.only")}</${Button}>
          <${Button} type="submit" kind="primary" icon="play" busy=${busy}>${t("new.submit")}</${Button}>
        </div>
      </${Card}>`
      }
      ${
        file &&
        seen.strange &&
        html`<${Strange} strange=${seen.strange} file=${file} model=${models.data?.data[0]?.id} />`
      }
      ${step.at === "faults" && html`<${Faults} report=${step.report} file=${file} />`}
    </form>
    ${(!file || seen.strange) && html`<${Shape} />`}
  </${Page}>`;
}

async function send(file, onProgress, abort) {
  await file
    .slice(0, 1)
    .arrayBuffer()
    .catch(() => {
      throw new Error(t("new.changed")); // it was written to since it was chosen, and browsers read only what was chosen
    });
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", file, file.name || "input.jsonl");
  return upload("/files", form, onProgress, abort);
}

function Known({ seen, models }) {
  const model = models?.find((each) => each.id === seen.model);
  if (!seen.model && !seen.lines) return null;
  return html`<p class="note facts">
    <${Icon}
      name="check"
      size=${15}
    />${seen.lines ? html`<span>${counted("new.report", seen.lines)}</span>` : null}${
      seen.model &&
      html`<span
        >${t("model")}: <code><bdi>${seen.model}</bdi></code></span
      >`
    }${model && html`<span>${t("new.free", { n: number(model.free) })}</span>`}
  </p>`;
}

function Good({ report }) {
  const { estimate } = report;
  const of = (amount) => money(amount, estimate.currency);
  const cost = estimate.cost_limit === null ? "new.cost.open" : "new.cost";
  const told = [
    counted("new.report", report.lines),
    t("new.tokens", { n: compact(estimate.input_tokens) }),
    t(cost, { least: of(estimate.input_cost), most: of(estimate.cost_limit) }),
  ];
  return html`<div class="alert good" role="status">
    <${Icon} name="check" />
    <div>
      <p><strong>${t("new.good")}</strong></p>
      <p class="note">${told.join(" · ")}</p>
    </div>
  </div>`;
}

function Faults({ report, file }) {
  const heading = useRef();
  useEffect(() => heading.current?.scrollIntoView({ block: "start" }), []);
  return html`<div ref=${heading} class="column">
    <div class="alert bad" role="alert">
      <${Icon} name="warning" />
      <p>${t("new.faults")}</p>
    </div>
    <${Findings} findings=${report.errors.data} file=${file} all=${report.error_count} />
  </div>`;
}

function Drop({ file, seen, choose, disabled }) {
  const [over, setOver] = useState(false);
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    const [found] = event.dataTransfer.files;
    if (found && !disabled) choose(found);
  };
  const picked = (event) => {
    const [found] = event.target.files;
    event.target.value = ""; // so that the same file, corrected, can be chosen again
    if (found) choose(found);
  };
  return html`<div
    class="drop ${over ? "over" : ""} ${file ? "chosen" : ""}"
    onDragOver=${(event) => (event.preventDefault(), setOver(true))}
    onDragLeave=${() => setOver(false)}
    onDrop=${drop}
  >
    <${Icon} name=${file ? "files" : "upload"} size=${36} />
    ${
      file
        ? html`<p class="drop-name"><bdi>${file.name}</bdi></p>
            <p class="note">
              ${size(file.size)}${seen.lines ? ` · ${counted("new.report", seen.lines)}` : ""}
            </p>`
        : html`<p class="drop-name">${t("new.drop")}</p>
            <p class="note">${t("new.drop.note")}</p>`
    }
    <label class="button ${file ? "" : "primary"}"
      ><span>${t(file ? "new.other" : "new.choose")}</span
      ><input
        class="unseen"
        type="file"
        accept=".jsonl,.ndjson,.json,.txt,application/jsonl,application/x-ndjson"
        disabled=${disabled}
        onChange=${picked}
    /></label>
  </div>`;
}

function Shape() {
  const line =
    '{"custom_id": "doc-1", "method": "POST", "url": "/v1/chat/completions",\n "body": {"model": "…", "messages": [{"role": "user", "content": "…"}]}}';
  return html`<${Card} title=${t("new.shape")} note=${t("new.shape.note")}><pre class="raw" tabindex="0"><code>${line}</code></pre>
    </${Card}>`;
}
