// One batch: how it goes, what can be done to it, and its results.
import { download } from "../lib/api.js";
import { act, cancellable, done, live, nameOf, pace, pausable, retriable } from "../lib/batch.js";
import { useBatch } from "../lib/follow.js";
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { compact, counted, duration, has, money, number, percent, t } from "../lib/i18n.js";
import { go, to } from "../lib/route.js";
import { me } from "../lib/session.js";
import {
  Button,
  Card,
  Copy,
  Fault,
  Figure,
  Figures,
  Id,
  Page,
  Progress,
  Status,
  Time,
  Waiting,
} from "../parts/basic.js";
import { Findings } from "../parts/findings.js";
import { Ask } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { say } from "../parts/notice.js";
import { Pace } from "../parts/pace.js";
import { Results } from "../parts/results.js";

const STAMPS = ["created", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"];

export function BatchPage({ id, query }) {
  const followed = useBatch(id);
  const { data: batch, error } = followed;
  const back = { href: to("batches"), text: t("nav.batches") };
  if (!batch)
    return html`<${Page} title=${t("batch")} back=${back}>${error ? html`<${Fault} error=${error}
      retry=${followed.reload} />` : html`<${Waiting} />`}</${Page}>`;
  return html`<${Page} title=${nameOf(batch)} back=${back}
    lead=${html`<span class="facts"><${Status} status=${batch.status} paused=${batch.paused} />
      <${Id} text=${batch.id} />${batch.model && html`<bdi>${batch.model}</bdi>`}<code>${batch.endpoint}</code></span>`}
    actions=${html`<${Deeds} batch=${batch} reload=${followed.reload} />`}>
    <${Announcer} batch=${batch} />
    ${batch.status !== "failed" && html`<${Going} batch=${batch} samples=${followed.samples} />`}
    ${batch.errors && html`<${Findings} findings=${batch.errors.data} fileId=${batch.input_file_id} />`}
    ${followed.samples.length > 2 && html`<${Card} title=${t("pace.title")}><${Pace} samples=${followed.samples} /></${Card}>`}
    ${batch.status !== "failed" && batch.status !== "validating" && html`<${Results} batch=${batch} query=${query} />`}
    <${Details} batch=${batch} />
  </${Page}>`;
}

// Tells a screen reader now and then how far the batch is, not at each change.
function Announcer({ batch }) {
  const [text, setText] = useState("");
  const told = useRef("");
  const { total } = batch.request_counts;
  const tenth = total ? Math.floor((10 * done(batch)) / total) : 0;
  const mark = `${batch.status}${tenth}`;
  useEffect(() => {
    if (told.current && told.current !== mark)
      setText(
        t("batch.announce", { status: t(`status.${batch.status}`), done: number(done(batch)), total: number(total) }),
      );
    told.current = mark;
  }, [mark]);
  return html`<p class="unseen" role="status" aria-live="polite">${text}</p>`;
}

function Deeds({ batch, reload }) {
  const [asked, ask] = useState(null);
  const [busy, setBusy] = useState("");
  const does = async (verb) => {
    setBusy(verb);
    try {
      await act(batch.id, verb);
      say(t(`batch.${verb}.done`));
      reload();
    } catch (error) {
      say(error.message, "bad");
    }
    setBusy("");
  };
  const cancel = async () => {
    await act(batch.id, "cancel");
    say(t("batch.cancel.done"));
    reload();
  };
  const retry = async () => {
    const made = await act(batch.id, "retry");
    say(t("batch.retry.done"));
    go(`batches/${made.id}`);
  };
  return html` ${pausable(batch) && (batch.paused ? html`<${Button} icon="play" busy=${busy === "resume"}
    onClick=${() => does("resume")}>${t("batch.resume")}</${Button}>` : html`<${Button} icon="pause" busy=${busy === "pause"}
    onClick=${() => does("pause")}>${t("batch.pause")}</${Button}>`)}
  ${cancellable(batch) && html`<${Button} icon="stop" kind="danger-quiet" onClick=${() => ask("cancel")}>${t("batch.cancel")}</${Button}>`}
  ${retriable(batch) && html`<${Button} icon="retry" kind="primary" onClick=${() => ask("retry")}>${t("batch.retry")}</${Button}>`}
  ${batch.output_file_id && html`<${Download} id=${batch.output_file_id}
    name=${`${batch.id}-output.jsonl`}>${t("batch.output")}</${Download}>`}
  ${batch.error_file_id && html`<${Download} id=${batch.error_file_id}
    name=${`${batch.id}-errors.jsonl`}>${t("batch.errors")}</${Download}>`}
  ${asked === "cancel" && html`<${Ask} title=${t("batch.cancel.title")} text=${t("batch.cancel.text")} yes=${t("batch.cancel")}
    kind="danger" act=${cancel} onClose=${() => ask(null)} />`}
  ${asked === "retry" && html`<${Ask} title=${t("batch.retry.title")} text=${counted("batch.retry.text", batch.request_counts.failed)}
    yes=${t("batch.retry")} act=${retry} onClose=${() => ask(null)} />`}`;
}

function Download({ id, name, children }) {
  const [busy, setBusy] = useState(false);
  const fetch = async () => {
    setBusy(true);
    await download(`/files/${id}/content`, name).catch((error) => say(error.message, "bad"));
    setBusy(false);
  };
  return html`<${Button} icon="download" busy=${busy} onClick=${fetch}>${children}</${Button}>`;
}

// Why a batch does not move: the server's words, and what they mean for whoever waits.
function Waits({ text }) {
  const kind = ["checking", "paused", "capacity", "model"].find((each) => text.startsWith(each)) ?? "other";
  const shown = kind === "model" ? (text.endsWith("is paused") ? "model_paused" : "away") : kind;
  return html`<div class="alert ${shown === "away" ? "warn" : "info"}">
    <${Icon} name="clock" />
    <div>
      <p><strong>${t(`waits.${shown}`)}</strong></p>
      <p class="note">${text}</p>
    </div>
  </div>`;
}

// Said while, at this rate, the batch expires before its last line has run.
function Late({ eta, expires }) {
  const left = expires - Date.now() / 1000;
  if (!expires || !Number.isFinite(eta) || eta <= left) return null;
  return html`<div class="alert warn">
    <${Icon} name="warning" />
    <div>
      <p><strong>${t("batch.late", { left: duration(left) })}</strong></p>
      <p class="note">${t("batch.late.text")}</p>
    </div>
  </div>`;
}

function Going({ batch, samples }) {
  const own = batch.hornada ?? {};
  const seen = pace(samples);
  const rate = own.rate ?? seen.rate;
  const eta = own.eta ?? seen.eta;
  const { total, completed, failed } = batch.request_counts;
  const began = batch.in_progress_at ?? batch.created_at;
  const end = batch.completed_at ?? batch.cancelled_at ?? batch.expired_at ?? batch.failed_at;
  const cost = batch.cost ?? own.cost;
  return html`<${Card} label=${t("progress")} kind="going">
    ${own.waiting_for && html`<${Waits} text=${own.waiting_for} />`}
    ${live(batch) && !batch.paused && html`<${Late} eta=${eta} expires=${batch.expires_at} />`}
    <div class="going-head"><span class="big">${total ? percent((completed + failed) / total) : "–"}</span>
      <span class="note">${counted("lines.of", total, { done: number(completed + failed) })}</span></div>
    <${Progress} counts=${batch.request_counts} big />
    <${Figures}>
      <${Figure} icon="check" label=${t("batch.answered")} value=${number(completed)} kind="good" />
      <${Figure} icon="warning" label=${t("batch.failed")} value=${number(failed)} kind=${failed ? "bad" : ""} />
      ${
        live(batch)
          ? html`<${Figure}
                icon="speed"
                label=${t("batch.rate")}

                  value=${rate === null || rate === undefined ? "–" : t("rate", { n: number(rate, { maximumFractionDigits: rate < 10 ? 1 : 0 }) })}
              />
              <${Figure} icon="clock" label=${t("batch.eta")} value=${batch.paused ? "–" : duration(eta)} />`
          : html`<${Figure} icon="clock" label=${t("batch.took")} value=${end ? duration(end - began) : "–"} />`
      }
      <${Figure} icon="coins" label=${t("cost")} value=${money(cost, me.value.currency)}
        note=${live(batch) && own.estimated_cost ? t("batch.estimate", { amount: money(own.estimated_cost, me.value.currency) }) : undefined} />
      ${batch.usage && html`<${Figure} icon="tokens" label=${t("usage.tokens")} value=${compact(batch.usage.total_tokens)}
        note=${t("usage.split", { input: compact(batch.usage.input_tokens), output: compact(batch.usage.output_tokens) })} />`}
    </${Figures}>
    <${Codes} found=${own.errors_by_code ?? {}} />
  </${Card}>`;
}

function Codes({ found }) {
  const codes = Object.entries(found);
  if (!codes.length) return null;
  const most = Math.max(...codes.map(([, count]) => count));
  return html`<div class="codes">
    <h3>${t("batch.codes")}</h3>
    <ul>
      ${codes.map(
        ([code, count]) =>
          html`<li key=${code}>
            <code>${code}</code
            ><span class="bar" aria-hidden="true"><span style=${{ width: `${(100 * count) / most}%` }} /></span
            ><strong>${number(count)}</strong>
          </li>`,
      )}
    </ul>
  </div>`;
}

function Details({ batch }) {
  const metadata = Object.entries(batch.metadata ?? {});
  return html`<${Card} title=${t("batch.details")}>
    <dl class="pairs">
      <dt>${t("batch.id")}</dt><dd><${Id} text=${batch.id} /> <${Copy} text=${batch.id} /></dd>
      ${
        batch.hornada?.retry_of &&
        html`<dt>${t("batch.retry.of")}</dt>
          <dd>
            <a href=${to(`batches/${batch.hornada.retry_of}`)}><${Id} text=${batch.hornada.retry_of} /></a>
          </dd>`
      }
      <dt>${t("batch.input")}</dt><dd><${Id} text=${batch.input_file_id} /></dd>
      ${metadata.map(
        ([key, value]) =>
          html`<dt key=${`k-${key}`}><bdi>${key}</bdi></dt>
            <dd key=${`v-${key}`}><bdi>${value}</bdi></dd>`,
      )}
      ${STAMPS.filter((stamp) => batch[`${stamp}_at`]).map(
        (stamp) =>
          html`<dt key=${stamp}>${t(has(`stamp.${stamp}`) ? `stamp.${stamp}` : `status.${stamp}`)}</dt>
            <dd key=${`${stamp}-at`}><${Time} at=${batch[`${stamp}_at`]} /></dd>`,
      )}
      ${
        live(batch) &&
        html`<dt>${t("expires")}</dt>
          <dd><${Time} at=${batch.expires_at} /></dd>`
      }
    </dl>
  </${Card}>`;
}
