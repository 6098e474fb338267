// Calls of the public API with the user's key; every failure is one of three errors.
import { drop, key } from "./session.js";
import { signal } from "./signal.js";

const ROOT = location.pathname.replace(/\/ui(\/.*)?$/, "");
const BASE = ROOT + document.querySelector('meta[name="hornada-base"]').content;
const PROBE_MS = 3000;
const AGAIN_MS = 300;

export const away = signal(false); // the server does not answer

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = error?.code ?? null;
    this.param = error?.param ?? null;
    this.requestId = error?.request_id ?? null;
  }
}

export class Away extends Error {}

export function address(path) {
  return (/^\/(admin|metrics|readyz|healthz)/.test(path) ? ROOT : BASE) + path;
}

export function withQuery(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

export async function send(method, path, { body, signal: abort, key: other, accept, harmless } = {}) {
  const headers = { authorization: `Bearer ${other ?? key.value}` };
  if (accept) headers.accept = accept;
  if (body !== undefined) headers["content-type"] = "application/json";
  const request = {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: abort,
    credentials: "omit",
    cache: "no-store",
  };
  let answer;
  try {
    answer = await reach(address(path), request, method === "GET" || harmless);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    lost();
    throw new Away();
  }
  away.set(false);
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => null);
  if (answer.status === 401 && !other) drop(true);
  throw new Refused(answer.status, told?.error);
}

// A browser breaks off what is under way when its network changes; what can be asked twice is asked again.
async function reach(where, request, again) {
  try {
    return await fetch(where, request);
  } catch (error) {
    if (!again || error.name === "AbortError") throw error;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    return fetch(where, request);
  }
}

export const call = async (method, path, options) => (await send(method, path, options)).json();
export const get = (path, query, abort) => call("GET", withQuery(path, query), { signal: abort });
export const post = (path, body) => call("POST", path, { body });

// A file's upload with its progress, which fetch does not tell: XMLHttpRequest does.
export async function upload(path, form, onProgress, abort) {
  try {
    return await uploadOnce(path, form, onProgress, abort);
  } catch (error) {
    if (!(error instanceof Away)) throw error;
    return uploadOnce(path, form, onProgress, abort); // the same bytes again are the same file
  }
}

function uploadOnce(path, form, onProgress, abort) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address(path));
    request.setRequestHeader("authorization", `Bearer ${key.value}`);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onload = () => {
      away.set(false);
      if (request.status < 300) return resolve(request.response);
      if (request.status === 401) drop(true);
      return reject(new Refused(request.status, request.response?.error));
    };
    request.onerror = () => {
      lost();
      reject(new Away());
    };
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    abort?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

// A download with the key in its header, so that no link holds it.
export async function download(path, name) {
  const blob = await (await send("GET", path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The lines of a streamed answer, one by one.
export async function* lines(answer) {
  let rest = "";
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const pieces = (rest + value).split("\n");
      rest = pieces.pop();
      yield* pieces;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  if (rest) yield rest;
}

let probing = false;

function lost() {
  away.set(true);
  if (!probing) {
    probing = true;
    setTimeout(probe, PROBE_MS);
  }
}

export async function probe() {
  probing = false;
  try {
    await fetch(address("/healthz"), { cache: "no-store", credentials: "omit" });
    away.set(false);
  } catch {
    lost();
  }
}
