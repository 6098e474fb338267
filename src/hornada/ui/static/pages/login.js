// Logging in: the key is tried before it is kept.
import { call } from "../lib/api.js";
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { t } from "../lib/i18n.js";
import { ended, keep, me } from "../lib/session.js";
import { Button, Fault } from "../parts/basic.js";
import { Choices } from "../parts/frame.js";
import { Icon, Logo } from "../parts/icon.js";

const PRINTABLE = /^[\x21-\x7e]+$/; // what a header can hold

export function Login() {
  const input = useRef();
  const [shown, show] = useState(false);
  const [remember, setRemember] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => {
    document.title = `${t("login")} · Hornada`;
    input.current.focus();
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    const text = input.current.value.trim();
    setError(null);
    if (!PRINTABLE.test(text)) return setError(new Error(t(text ? "login.unprintable" : "login.empty")));
    setBusy(true);
    try {
      const found = await call("GET", "/me", { key: text });
      keep(text, remember);
      me.set(found);
    } catch (found) {
      setError(found.status === 401 ? new Error(t("login.wrong")) : found);
      setBusy(false);
      input.current.focus();
      input.current.select();
    }
    return undefined;
  };
  return html`<main class="login">
    <div class="login-art" aria-hidden="true"><span /><span /><span /></div>
    <form class="card login-card" onSubmit=${submit} aria-labelledby="login-title">
      <div class="login-brand"><${Logo} size=${56} /><h1 id="login-title" tabindex="-1">Hornada</h1><p class="note">${t("login.lead")}</p>
        </div>
      ${
        ended.value &&
        html`<div class="alert warn" role="alert">
          <${Icon} name="warning" />
          <p>${t("login.ended")}</p>
        </div>`
      }
      <div class="field"><label for="key">${t("login.key")}</label>
        <div class="with-button"><input id="key" name="key" ref=${input} type=${shown ? "text" : "password"} autocomplete="off"
          spellcheck="false" autocapitalize="off" placeholder="sk-…" required aria-describedby="key-note" />
          <${Button} kind="quiet" aria-pressed=${shown} onClick=${() => show(!shown)}>${t(shown ? "login.hide" : "login.show")}</${Button}>
            </div>
        <p class="note" id="key-note">${t("login.note")}</p></div>
      <label class="check"><input type="checkbox" checked=${remember} onChange=${(event) => setRemember(event.target.checked)} />
        <span>${t("login.remember")}</span></label>
      ${
        remember &&
        html`<div class="alert warn">
          <${Icon} name="warning" />
          <p>${t("login.risk")}</p>
        </div>`
      }
      <${Fault} error=${error} />
      <${Button} type="submit" kind="primary wide" icon="key" busy=${busy}>${t("login")}</${Button}>
      <${Choices} />
    </form>
  </main>`;
}
