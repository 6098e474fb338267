// Results of a batch, a page at a time: lines are read as they stream in, until there are enough that fit.
import { lines, send, withQuery } from "./api.js";

export const PAGE = 10;

export function textOf(body) {
  if (typeof body === "string") return body;
  const choice = body?.choices?.[0];
  if (choice)
    return (
      content(choice.message?.content ?? choice.text) ||
      choice.message?.refusal ||
      calls(choice.message?.tool_calls) ||
      choice.message?.reasoning_content ||
      ""
    );
  if (Array.isArray(body?.output))
    return body.output
      .flatMap((item) => item.content ?? [])
      .map((part) => part.text ?? part.refusal ?? "")
      .join("");
  return body === undefined || body === null ? "" : JSON.stringify(body, null, 1);
}

export function askedOf(body) {
  if (Array.isArray(body?.messages))
    return body.messages.map((message) => ({
      role: String(message?.role ?? ""),
      text: content(message?.content) || calls(message?.tool_calls),
    }));
  const input = body?.prompt ?? body?.input ?? body?.query;
  return [{ role: "", text: typeof input === "string" ? input : JSON.stringify(input ?? body, null, 1) }];
}

function content(value) {
  if (typeof value === "string") return value;
  return Array.isArray(value)
    ? value.map((part) => part?.text ?? part?.refusal ?? `[${part?.type ?? "?"}]`).join("\n")
    : "";
}

const calls = (value) => (value?.length ? JSON.stringify(value, null, 1) : "");

export function faultOf({ response, error }) {
  if (error) return { code: error.code, message: error.message };
  const found = response?.body?.error ?? response?.body;
  return {
    code: found?.code ?? found?.type,
    message: found?.message ?? (typeof found === "string" ? found : JSON.stringify(found)),
    status: response?.status_code,
  };
}

// Results behind line `after`: { data, last, has_more }. `text` is looked for in all of a line, whatever its case.
export async function results(id, { after = 0, status = "all", text = "" }, abort) {
  const limit = text ? undefined : PAGE + 1;
  const stop = new AbortController();
  abort?.addEventListener("abort", () => stop.abort());
  const sought = text.toLowerCase();
  const answer = await send("GET", withQuery(`/batches/${encodeURIComponent(id)}/results`, { after, status, limit }), {
    signal: stop.signal,
  });
  const data = [];
  for await (const line of lines(answer)) {
    if (!line || (sought && !fits(line, sought))) continue;
    data.push(JSON.parse(line));
    if (data.length > PAGE) break;
  }
  stop.abort();
  const shown = data.slice(0, PAGE);
  return { data: shown, last: shown.at(-1)?.line ?? after, has_more: data.length > PAGE };
}

// Escapes may hide what is sought, so only a line that was decoded surely lacks it.
function fits(line, sought) {
  return (
    line.toLowerCase().includes(sought) ||
    (line.includes("\\") && strings(JSON.parse(line)).some((each) => each.toLowerCase().includes(sought)))
  );
}

function strings(value) {
  if (typeof value === "string") return [value];
  return value && typeof value === "object" ? Object.values(value).flatMap(strings) : [];
}
