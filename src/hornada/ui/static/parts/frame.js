// What stands around every page: navigation, who is logged in, language and theme.
import { html, useState } from "../lib/html.js";
import { LANGUAGES, language, speak, t } from "../lib/i18n.js";
import { to } from "../lib/route.js";
import { drop, isAdmin, isOperator, me } from "../lib/session.js";
import { choose, theme } from "../lib/theme.js";
import { Button } from "./basic.js";
import { Dialog } from "./dialog.js";
import { Icon, Logo } from "./icon.js";

function sections() {
  const operator = isOperator();
  const work = me.value.batches;
  return [
    ["overview", "", true],
    ["batches", "batches", work],
    ["files", "files", true],
    ["models", "models", true],
    ["usage", "usage", !operator],
    ["webhooks", "webhooks", me.value.webhooks && work && isAdmin() && !operator],
    ["admin", "admin", isAdmin()],
  ].filter(([, , shown]) => shown);
}

const startable = () => me.value.batches && !isOperator();

function Links({ section, onGo }) {
  return html`<ul class="links">
    ${sections().map(
      ([name, path]) =>
        html`<li key=${name}>
          <a href=${to(path)} aria-current=${section === name ? "page" : undefined} onClick=${onGo}>
            <${Icon} name=${name} size=${20} />${t(`nav.${name}`)}</a
          >
        </li>`,
    )}
  </ul>`;
}

export function Choices() {
  const next = { system: "light", light: "dark", dark: "system" };
  const icons = { system: "auto", light: "sun", dark: "moon" };
  return html`<div class="choices">
    <label class="choice"
      ><${Icon} name="globe" /><span class="unseen">${t("language")}</span>
      <select value=${language.value} onChange=${(event) => speak(event.target.value, true)}>
        ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code} lang=${code}
          selected=${code === language.value}>${name}</option>`)}
      </select></label
    >
    <button
      type="button"
      class="button quiet theme"
      aria-label=${t("theme", { name: t(`theme.${theme.value}`) })}
      title=${t("theme", { name: t(`theme.${theme.value}`) })}
      onClick=${() => choose(next[theme.value])}
    >
      <${Icon} name=${icons[theme.value]} /><span>${t(`theme.${theme.value}`)}</span>
    </button>
  </div>`;
}

function Who() {
  const { organization, member, role } = me.value;
  const name = organization?.name ?? t("role.operator");
  return html`<div class="who">
    <span class="avatar" aria-hidden="true">${[...name][0].toUpperCase()}</span>
    <span class="who-name"
      ><strong title=${name}>${name}</strong
      ><span class="note"
        >${member ? `${member.name} · ${t(`role.${role}`)}` : `Hornada ${me.value.version}`}</span
      ></span
    >
    <${Button}
      kind="quiet"
      iconOnly
      icon="leave"
      aria-label=${t("logout")}
      title=${t("logout")}
      onClick=${() => drop()}
    />
  </div>`;
}

export function Frame({ section, children }) {
  const [open, setOpen] = useState(false);
  const skip = (event) => {
    event.preventDefault();
    document.querySelector("main h1")?.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>${t("skip")}</a>
    <header class="topbar">
      <a class="brand" href=${to("")}><${Logo} /><span>Hornada</span></a>
      <${Button}
        kind="quiet"
        iconOnly
        icon="menu"
        aria-label=${t("menu")}
        aria-haspopup="dialog"
        onClick=${() => setOpen(true)}
      />
    </header>
    ${
      open &&
      html`<${Dialog} drawer title="Hornada" onClose=${() => setOpen(false)}>${
        startable() &&
        html`<div class="drawer-new">
          <a class="button primary wide" href=${to("new")} onClick=${() => setOpen(false)}
            ><${Icon} name="plus" />${t("new")}</a
          >
        </div>`
      }<nav aria-label=${t("navigation")}><${Links} section=${section} onGo=${() => setOpen(false)} /></nav><div class="side-foot">
        <${Choices} /><${Who} /></div></${Dialog}>`
    }
    <div class="frame">
      <div class="side">
        <a class="brand" href=${to("")}><${Logo} size=${34} /><span>Hornada</span></a>
        ${startable() && html`<a class="button primary new" href=${to("new")}><${Icon} name="plus" />${t("new")}</a>`}
        <nav aria-label=${t("navigation")}><${Links} section=${section} /></nav>
        <div class="side-foot"><${Choices} /><${Who} /></div>
      </div>
      <main id="main">${children}</main>
    </div>`;
}
