// Dialogs on the element of that name: it keeps the focus inside and closes on Escape by itself.
import { html, useLayoutEffect, useRef, useState } from "../lib/html.js";
import { t } from "../lib/i18n.js";
import { Button, Fault } from "./basic.js";

export function Dialog({ title, onClose, children, wide, drawer }) {
  const box = useRef();
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  const outside = (event) => event.target === box.current && drawer && onClose();
  return html`<dialog
    ref=${box}
    class="${wide ? "wide" : ""} ${drawer ? "drawer" : ""}"
    aria-labelledby="dialog-title"
    onClose=${onClose}
    onClick=${outside}
  >
    <header class="dialog-head">
      <h2 id="dialog-title">${title}</h2>
      <${Button} kind="quiet" iconOnly icon="close" aria-label=${t("close")} onClick=${() => box.current.close()} />
    </header>
    ${children}
  </dialog>`;
}

// A form in a dialog; `act` does what was asked for, its fault is shown and the dialog stays.
export function Ask({ title, text, yes, kind = "primary", act, onClose, children }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const given = Object.fromEntries(new FormData(event.target));
      await act(given);
    } catch (found) {
      setError(found);
      setBusy(false);
      return;
    }
    onClose();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="form" onSubmit=${submit}>
      ${text && html`<p>${text}</p>`}
      ${children}
      <${Fault} error=${error} />
      <div class="actions end">
        <${Button} onClick=${onClose}>${t("dismiss")}</${Button}>
        <${Button} type="submit" kind=${kind} busy=${busy}>${yes}</${Button}>
      </div>
    </form>
  </${Dialog}>`;
}

export function Field({ label, name, hint, type = "text", options, value, ...rest }) {
  const id = `field-${name}`;
  const described = hint ? `${id}-hint` : undefined;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${
      options
        ? html`<select id=${id} name=${name} aria-describedby=${described} ...${rest}>
            ${options.map(([of, text]) => html`<option key=${of} value=${of} selected=${of === value}>${text}</option>`)}
          </select>`
        : html`<input
            id=${id}
            name=${name}
            type=${type}
            value=${value}
            aria-describedby=${described}
            autocomplete="off"
            ...${rest}
          />`
    }
    ${hint && html`<p class="note" id=${described}>${hint}</p>`}
  </div>`;
}
