// What is known of a batch, in the terms that pages use.
import { call, get, post } from "./api.js";
import { isOperator } from "./session.js";

export const STATUSES = [
  "validating",
  "in_progress",
  "finalizing",
  "completed",
  "failed",
  "cancelling",
  "cancelled",
  "expired",
];
export const LIVE = ["validating", "in_progress", "finalizing", "cancelling"];
const PAUSABLE = ["validating", "in_progress"];

export const live = (batch) => LIVE.includes(batch.status);
export const pausable = (batch) => PAUSABLE.includes(batch.status);
export const cancellable = (batch) => PAUSABLE.includes(batch.status);
export const retriable = (batch) => !live(batch) && batch.request_counts.failed > 0;
export const done = (batch) => batch.request_counts.completed + batch.request_counts.failed;
export const nameOf = (batch) => batch.metadata?.name ?? batch.metadata?.description ?? batch.id;

export const page = (query, abort) => get(isOperator() ? "/admin/batches" : "/batches", { limit: 20, ...query }, abort);
export const one = (id, abort) => call("GET", `/batches/${encodeURIComponent(id)}`, { signal: abort });
export const act = (id, verb) => post(`/batches/${encodeURIComponent(id)}/${verb}`, {});

// Lines a second between two looks at a batch, and the seconds that the rest takes at this rate.
export function pace(samples) {
  if (samples.length < 2) return { rate: null, eta: null };
  const last = samples[samples.length - 1];
  const first = samples.find((each) => each.at >= last.at - 20) ?? samples[0];
  const seconds = last.at - first.at;
  const rate = seconds > 0 ? (last.done - first.done) / seconds : null;
  return { rate, eta: rate ? (last.total - last.done) / rate : null };
}
