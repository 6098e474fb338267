// The dashboard: who is logged in, which page the address names, and the frame around it.
import { call } from "./lib/api.js";
import { html, render, useEffect, useState } from "./lib/html.js";
import { language, preferred, speak } from "./lib/i18n.js";
import { route } from "./lib/route.js";
import { ended, key, me } from "./lib/session.js";
import { useSignal } from "./lib/signal.js";
import { theme } from "./lib/theme.js";
import { Frame } from "./parts/frame.js";
import { Fault, Waiting } from "./parts/basic.js";
import { AwayBanner, Notices } from "./parts/notice.js";
import { Login } from "./pages/login.js";
import { pageOf } from "./pages/all.js";

function App() {
  useSignal(language);
  useSignal(theme);
  const token = useSignal(key);
  useSignal(ended);
  return html`<${AwayBanner} />${token ? html`<${Inside} key=${token} />` : html`<${Login} />`}<${Notices} />`;
}

let arriving = Boolean(key.value); // a page that is opened keeps the focus where the browser puts it

function Inside() {
  const who = useSignal(me);
  const at = useSignal(route);
  const [error, setError] = useState(null);
  const ask = () => {
    setError(null);
    call("GET", "/me").then(me.set, setError);
  };
  useEffect(() => {
    if (!who) ask();
  }, []);
  const place = at.path.join("/");
  useEffect(() => {
    scrollTo(0, 0);
    if (who && !arriving) document.querySelector("main h1")?.focus({ preventScroll: true });
    if (who) arriving = false;
  }, [place, Boolean(who)]);
  if (!who)
    return html`<main class="alone">
      ${error ? html`<${Fault} error=${error} retry=${ask} />` : html`<${Waiting} />`}
    </main>`;
  const { Page, section, params } = pageOf(at, who);
  return html`<${Frame} section=${section}><${Page} key=${place} ...${params} query=${at.query} /></${Frame}>`;
}

await speak(preferred());
render(html`<${App} />`, document.getElementById("app"));
