// A table that becomes a list of cards where there is no room for columns.
import { html } from "../lib/html.js";
import { t } from "../lib/i18n.js";
import { Empty } from "./basic.js";

// `columns`: { key, name, cell(row), kind } each; the first names the row.
export function Table({ label, columns, rows, id = (row) => row.id, none, noneText, noneIcon }) {
  if (!rows.length) return html`<${Empty} title=${none ?? t("none")} text=${noneText} icon=${noneIcon} />`;
  return html`<div class="table-box" role="region" aria-label=${label} tabindex="0">
    <table role="table">
      <caption class="unseen">
        ${label}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map((column) => html`<th role="columnheader" key=${column.key} scope="col"
            class=${column.kind}>${column.name || html`<span class="unseen">${t("actions")}</span>`}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr role="row" key=${id(row)}>
              ${columns.map((column, at) =>
                at
                  ? html`<td role="cell" key=${column.key} class=${column.kind} data-label=${column.name}>
                      ${column.cell(row)}
                    </td>`
                  : html`<th role="rowheader" key=${column.key} scope="row" class=${column.kind}>
                      ${column.cell(row)}
                    </th>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
