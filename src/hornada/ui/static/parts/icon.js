// Drawings of 24 by 24, in the colour of the text beside them; never the only bearer of a meaning.
import { html } from "../lib/html.js";

const PATHS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  batches: "M12 3 3 7.5l9 4.5 9-4.5zM3 12l9 4.5 9-4.5M3 16.5 12 21l9-4.5",
  files: "M14 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8zM14 3v5h5",
  models: "M7 7h10v10H7zM9 3v4M15 3v4M9 17v4M15 17v4M3 9h4M3 15h4M17 9h4M17 15h4",
  usage: "M4 20V4M4 20h16M8 16v-5M12.5 16V7M17 16v-3",
  admin: "M12 3l8 3v6c0 4.5-3.2 7.8-8 9-4.8-1.2-8-4.5-8-9V6zM9 12l2 2 4-4",
  webhooks:
    "M9 17a4 4 0 1 1-4.6-4M15 17h-6M12 6.8 9.2 12M15.5 9.2A4 4 0 1 0 8.3 7M14.7 12 12 6.8M15 17a3 3 0 1 0 .3-4.9",
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  upload: "M12 16V4M7 9l5-5 5 5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3",
  download: "M12 4v12M7 11l5 5 5-5M4 20h16",
  pause: "M9 5v14M15 5v14",
  play: "M7 4.5v15l12-7.5z",
  stop: "M6 6h12v12H6z",
  retry: "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12.5l4.5 4.5L19 7.5",
  warning: "M12 4 2.5 20h19zM12 10v4.5M12 17.2v.3",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2",
  speed: "M4 18a9 9 0 1 1 16 0M12 14l4-5",
  coins:
    "M12 10c4.4 0 8-1.3 8-3s-3.6-3-8-3-8 1.3-8 3 3.6 3 8 3zM4 7v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  tokens: "M5 7h14M5 12h9M5 17h11",
  left: "M14.5 5.5 8 12l6.5 6.5",
  right: "M9.5 5.5 16 12l-6.5 6.5",
  sun: "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3 19 19M19 5l-1.7 1.7M6.7 17.3 5 19",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  leave: "M14 4h5a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1h-5M10 16l-4-4 4-4M6 12h10",
  key: "M15 13a4.5 4.5 0 1 0-4.3-3L4 16.7V20h3.3v-2.3h2.3v-2.3h1.2l1.5-1.6c.8.8 1.7 1.2 2.7 1.2zM16 8.2v.1",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5",
  globe:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c2.5 2.5 3.7 5.5 3.7 9s-1.2 6.5-3.7 9c-2.5-2.5-3.7-5.5-3.7-9S9.5 5.5 12 3z",
  inbox: "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1 2.5h4l1-2.5h5",
};

export function Icon({ name, size = 18 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}

export function Logo({ size = 30 }) {
  return html`<svg class="logo" width=${size} height=${size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="9" class="logo-back" />
    <path class="logo-oven" d="M6 25.5V16a10 10 0 0 1 20 0v9.5h-4.8V17a5.2 5.2 0 0 0-10.4 0v8.5z" />
    <path
      class="logo-flame"
      d="M16.2 15.5c.4 2.300 3 3.600 3 6.5a3.2 3.2 0 0 1-6.4 0c0-1.4.7-2.300 1.4-3 .2 1 .6 1.4 1.100 1.600-.3-1.900.1-3.600.9-5.100z"
    />
  </svg>`;
}
