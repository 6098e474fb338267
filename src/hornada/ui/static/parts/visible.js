// Text of strangers: never markup, kept apart from the page's own direction, its control characters made visible.
import { html } from "../lib/html.js";

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const PIECES = new RegExp(`(${HIDDEN.source})`);

const named = (text) => `U+${text.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

export function Visible({ text }) {
  const pieces = String(text).split(PIECES);
  return html`<bdi class="visible"
    >${pieces.map((piece, at) => (at % 2 ? html`<span class="hidden-character" key=${at}
      title=${named(piece)}>${named(piece)}</span>` : piece))}</bdi
  >`;
}
