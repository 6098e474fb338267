// An address that names no page.
import { html } from "../lib/html.js";
import { t } from "../lib/i18n.js";
import { to } from "../lib/route.js";
import { Empty, Page } from "../parts/basic.js";

export function Missing() {
  return html`<${Page} title=${t("missing")}><${Empty} title=${t("missing.title")} text=${t("missing.text")}>
    <a class="button primary" href=${to("")}>${t("nav.overview")}</a></${Empty}></${Page}>`;
}
