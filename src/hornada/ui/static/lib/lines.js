// Lines of a file, read here: what the first requests ask for, and the text of the lines that findings name.
import { send, lines as streamed } from "./api.js";
import { strange } from "./kind.js";

const SHOWN = 600;
const LOOKED_AT = 1 << 20;

const PATHS = [
  ["/v1/chat/completions", (body) => Array.isArray(body.messages)],
  ["/v1/rerank", (body) => "documents" in body],
  ["/v1/completions", (body) => "prompt" in body],
  ["/v1/embeddings", (body) => "input" in body],
];

export const clip = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text.replace(/\r$/, ""));

// What the first line that can be read says: its endpoint and its model; or what the file is, if it is no JSONL at all.
export async function infer(file) {
  const head = (await file.slice(0, LOOKED_AT).text()).replace(/^\ufeff/, "");
  const found = strange(head, file.name ?? "", file.size <= LOOKED_AT);
  if (found) return { strange: found };
  for (const line of head.split("\n")) {
    let request;
    try {
      request = JSON.parse(line);
    } catch {
      continue;
    }
    const body = request?.body;
    if (!body || typeof body !== "object") continue;
    const endpoint = typeof request.url === "string" ? request.url : PATHS.find(([, fits]) => fits(body))?.[0];
    return { endpoint, model: typeof body.model === "string" ? body.model : undefined };
  }
  return {};
}

async function* decoded(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// The texts of these lines (from 1) by their numbers; and how many lines are not blank, when `all` of them are read.
export async function read(file, wanted, all = false) {
  const found = new Map();
  const numbers = new Set(wanted);
  const last = Math.max(0, ...wanted);
  let number = 1;
  let text = "";
  let filled = 0;
  let blank = true;
  for await (const piece of decoded(file.stream())) {
    let from = 0;
    for (;;) {
      const end = piece.indexOf("\n", from);
      const part = piece.slice(from, end < 0 ? undefined : end);
      if (numbers.has(number) && text.length <= SHOWN) text += part;
      if (blank && part.trim()) {
        blank = false;
        filled += 1;
      }
      if (end < 0) break;
      blank = true;
      if (numbers.has(number)) found.set(number, clip(text));
      text = "";
      number += 1;
      from = end + 1;
    }
    if (!all && number > last) break;
  }
  if (text) found.set(number, clip(text));
  return { found, lines: filled };
}

// The same of a file that the server has.
export async function readStored(id, wanted) {
  const numbers = new Set(wanted);
  const last = Math.max(0, ...wanted);
  const found = new Map();
  let number = 0;
  for await (const line of streamed(await send("GET", `/files/${id}/content`))) {
    number += 1;
    if (numbers.has(number)) found.set(number, clip(line));
    if (number >= last) break;
  }
  return found;
}
