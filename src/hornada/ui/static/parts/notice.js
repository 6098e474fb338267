// Short notices of what was done, read aloud as well, and the line at the top while the server is away.
import { html, useEffect, useState } from "../lib/html.js";
import { away, probe } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { signal, useSignal } from "../lib/signal.js";
import { Icon } from "./icon.js";

const SHOWN_MS = 6000;
const latest = signal(null);

export const say = (text, kind = "good") => latest.set({ text, kind });

export function Notices() {
  const notice = useSignal(latest);
  const [shown, show] = useState(false);
  useEffect(() => {
    if (!notice) return undefined;
    show(true);
    const timer = setTimeout(() => show(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice]);
  return html`<div class="notices" role="status" aria-live="polite">
    ${shown && notice && html`<div class="notice ${notice.kind}"><${Icon} name=${notice.kind === "bad" ? "warning" : "check"} />
      <span>${notice.text}</span></div>`}
  </div>`;
}

export function AwayBanner() {
  const gone = useSignal(away);
  return html`<div role="alert">
    ${
      gone &&
      html`<div class="banner">
        <${Icon} name="warning" /><span>${t("away")}</span
        ><button type="button" class="button" onClick=${probe}>${t("again")}</button>
      </div>`
    }
  </div>`;
}
