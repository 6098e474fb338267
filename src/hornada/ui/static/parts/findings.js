// What is wrong with a file, each finding beside the line it names.
import { html, useEffect, useState } from "../lib/html.js";
import { counted, number, t } from "../lib/i18n.js";
import { read, readStored } from "../lib/lines.js";
import { Card } from "./basic.js";
import { Visible } from "./visible.js";

// `file`: the file itself, where this page has it; else `fileId`: it is read from the server. `all`: how many there are.
export function Findings({ findings, file, fileId, all = findings.length }) {
  const [texts, setTexts] = useState(new Map());
  const wanted = findings.map((each) => each.line).filter(Boolean);
  useEffect(() => {
    let ended = false;
    const reading = !wanted.length
      ? Promise.resolve(new Map())
      : file
        ? read(file, wanted).then((all) => all.found)
        : readStored(fileId, wanted);
    reading.then(
      (found) => !ended && setTexts(found),
      () => {},
    );
    return () => {
      ended = true;
    };
  }, [file, fileId, wanted.join()]);
  return html`<${Card} title=${counted("findings", all)}
    note=${all > findings.length ? t("findings.more", { n: number(findings.length) }) : t("findings.note")} kind="findings">
    <ol class="finding-list">${findings.map(
      (each, at) =>
        html`<li key=${at} class="finding">
          <div class="finding-head">
            <span class="line-number">${each.line ? t("line.number", { n: number(each.line) }) : t("line.none")}</span
            ><code class="code">${each.code}</code>${each.param && html`<code class="pill">${each.param}</code>`}
          </div>
          <p><${Visible} text=${each.message} /></p>
          ${each.line && texts.has(each.line) && html`<pre class="line-text" tabindex="0" aria-label=${t("line.text", { n: each.line })}>
            <span class="gutter" aria-hidden="true">${each.line}</span><code><${Visible} text=${texts.get(each.line) || " "} /></code>
            </pre>`}
        </li>`,
    )}</ol>
  </${Card}>`;
}
