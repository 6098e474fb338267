// Charts, drawn by uPlot; the same figures stand below as a table for whoever cannot see them.
import { html, useEffect, useRef } from "../lib/html.js";
import { language, t } from "../lib/i18n.js";
import { useSignal } from "../lib/signal.js";
import { repainted } from "../lib/theme.js";

const HEIGHT = 220;

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

// uPlot's options for series of { label, colour, bars, text(value) } over `xs` (seconds, or places of `names`).
function options(width, series, { names, texts, most }, readout) {
  const colour = colours();
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = {
    size: 34,
    stroke: colour("muted"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
    font,
  };
  const bars = uPlot.paths.bars({ size: [0.62, 46], radius: 0.15 });
  return {
    width,
    height: HEIGHT,
    padding: [12, 8, 0, 0],
    legend: { show: false },
    hooks: { setCursor: [(plot) => (readout.textContent = told(plot, names, texts))] },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: {
      x: { time: !names, range: names ? (_, low, high) => [low - 0.6, high + 0.6] : undefined },
      y: { range: (_, low, high) => [0, most ?? (Math.max(high, 0) * 1.12 || 1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 70,
        ...(names
          ? {
              splits: (_, __, low, high) => places(names, width, low, high),
              values: (_, at) => at.map((each) => names[each] ?? ""),
            }
          : { values: (_, at) => at.map(texts.x) }),
      },
      { ...axis, size: 62, values: (_, at) => at.map(texts.y) },
    ],
    series: [
      {},
      ...series.map((each) => ({
        label: each.label,
        stroke: colour(each.colour),
        fill: each.bars ? colour(each.colour) : `${colour(each.colour)}26`,
        width: each.bars ? 0 : 2,
        paths: each.bars ? bars : uPlot.paths.spline(),
        points: { show: false },
      })),
    ],
  };
}

// What stands under the pointer.
function told({ cursor: { idx }, data }, names, texts) {
  if (idx === null || idx === undefined || data[1][idx] === null) return "";
  return `${names ? names[idx] : texts.x(data[0][idx])} · ${texts.y(data[1][idx])}`;
}

function places(names, width, low, high) {
  const every = Math.max(1, Math.ceil(names.length / Math.max(2, Math.floor(width / 74))));
  return names.map((_, at) => at).filter((at) => at % every === 0 && at >= low && at <= high);
}

export function Chart({ label, summary, xs, series, names, texts, most }) {
  const box = useRef();
  const plot = useRef();
  const readout = useRef();
  const painted = useSignal(repainted);
  const shape = JSON.stringify([
    series.map(({ label: of, colour, bars }) => [of, colour, bars]),
    language.value,
    painted,
    names ? xs.length : 0,
    most,
  ]);
  const data = [xs, ...series.map((each) => each.values)];
  useEffect(() => {
    const place = box.current;
    if (!place) return undefined; // gone before it was drawn
    const drawn = new uPlot(options(place.clientWidth, series, { names, texts, most }, readout.current), data, place);
    plot.current = drawn;
    const watcher = new ResizeObserver(
      () =>
        place.clientWidth &&
        place.clientWidth !== drawn.width &&
        drawn.setSize({ width: place.clientWidth, height: HEIGHT }),
    );
    watcher.observe(place);
    return () => {
      watcher.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data));
  return html`<figure class="chart">
    <p ref=${readout} class="readout" aria-hidden="true" />
    <div ref=${box} class="plot" role="img" aria-label="${label}. ${summary}" />
    <details>
      <summary>${t("chart.table")}</summary>
      <div class="table-box" tabindex="0" role="region" aria-label=${label}>
        <table>
          <caption class="unseen">
            ${label}
          </caption>
          <thead>
            <tr>
              <th scope="col">${t("chart.at")}</th>
              ${series.map((each) => html`<th scope="col" class="number" key=${each.label}>${each.label}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${xs.slice(-60).map((x, at) => {
              const place = at + Math.max(0, xs.length - 60);
              return html`<tr key=${x}>
                <th scope="row">${names ? names[place] : texts.x(x)}</th>
                ${series.map((each) => html`<td class="number" key=${each.label}>${texts.y(each.values[place])}</td>`)}
              </tr>`;
            })}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`;
}
