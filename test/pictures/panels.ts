import type { Panel, Series } from '../support/prometheus.ts';

/** A line in a panel, with its name in the legend. */
export interface Line {
  readonly name: string;
  readonly series: Series;
}

export interface DrawnPanel {
  readonly panel: Panel;
  readonly lines: readonly Line[];
}

/** Times in s since the epoch. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The grid of Grafana has 24 columns; px. */
const [COLUMN, ROW, GAP] = [54, 26, 8];
const TITLE = 28;
const LEGEND_ROW = 16;
const AXIS = 66;
const COLORS = ['#2f6fdb', '#d9822b', '#2e8540', '#b83280', '#6b46c1', '#0b7285', '#c0392b', '#7d6608'];
const FILLS: Readonly<Record<string, string>> = {
  green: '#2e8540',
  orange: '#b35c00',
  red: '#b3261e',
  blue: '#2f6fdb',
};

/** A page with the panels where the dashboard has them. */
export function dashboardHtml(drawn: readonly DrawnPanel[], span: Span): string {
  const width = 24 * COLUMN;
  const height = Math.max(...drawn.map(({ panel: { gridPos } }) => (gridPos.y + gridPos.h) * ROW));
  const panels = drawn.map((one) => panelSvg(one, span)).join('');
  return `<!doctype html><meta charset="utf-8"><body style="margin:0"><svg xmlns="http://www.w3.org/2000/svg"
    width="${width + GAP}" height="${height + GAP}" font-family="sans-serif" font-size="12">
    <rect width="100%" height="100%" fill="#f4f5f5"/>${panels}</svg>`;
}

function panelSvg(one: DrawnPanel, span: Span): string {
  const { title, type, gridPos } = one.panel;
  const [width, height] = [gridPos.w * COLUMN - GAP, gridPos.h * ROW - GAP];
  const content = type === 'stat' ? statSvg(one, width, height) : linesSvg(one, span, width, height);
  return `<g transform="translate(${gridPos.x * COLUMN + GAP},${gridPos.y * ROW + GAP})">
    <rect width="${width}" height="${height}" fill="#fff" stroke="#dcdde0"/>${content}
    <text x="10" y="19" font-weight="600"${type === 'stat' ? ' fill="#fff"' : ''}>${escaped(title)}</text></g>`;
}

function statSvg({ panel, lines }: DrawnPanel, width: number, height: number): string {
  const { unit, mappings = [], thresholds } = panel.fieldConfig.defaults;
  const value = lines[0]?.series.values.at(-1)?.[1] ?? Number.NaN;
  const step = thresholds?.steps.findLast((one) => one.value === null || value >= one.value);
  const text = mappings[0]?.options[String(value)]?.text ?? shownValue(value, unit);
  return `<rect width="${width}" height="${height}" fill="${FILLS[step?.color ?? 'blue']}"/>
    <text x="${width / 2}" y="${height / 2 + 18}" font-size="30" fill="#fff" text-anchor="middle">${escaped(text)}</text>`;
}

function linesSvg({ panel, lines }: DrawnPanel, { start, end }: Span, width: number, height: number): string {
  const { unit, max } = panel.fieldConfig.defaults;
  const values = lines.flatMap(({ series }) =>
    series.values.map(([, value]) => value).filter(Number.isFinite),
  );
  const top = max ?? niceTop(Math.max(0, ...values), unit);
  const legend = legendRows(lines, width);
  const [right, bottom] = [width - 12, height - 30 - legend.length * LEGEND_ROW];
  const x = (time: number) => AXIS + ((time - start) / (end - start)) * (right - AXIS);
  const y = (value: number) => bottom - (value / top) * (bottom - TITLE - 8);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = y(part * top);
    return `<path d="M${AXIS} ${at}H${right}" stroke="#e4e5e8"/><text x="${AXIS - 6}" y="${at + 4}" text-anchor="end"
      font-size="11" fill="#555">${escaped(shownValue(part * top, unit))}</text>`;
  });
  const times = roundTimes(start, end).map(
    (time) => `<text x="${x(time)}" y="${bottom + 15}" text-anchor="middle" font-size="11"
      fill="#555">${new Date(time * 1000).toISOString().slice(11, 19)}</text>`,
  );
  const paths = lines.map(({ series }, n) => {
    const points = series.values.filter(([, value]) => Number.isFinite(value));
    const path = points.map(([time, value]) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join('L');
    return path === '' ? '' : `<path d="M${path}" fill="none" stroke="${colorOf(n)}" stroke-width="1.5"/>`;
  });
  return [...grid, ...times, ...paths, legendSvg(legend, height)].join('');
}

interface LegendEntry {
  readonly name: string;
  readonly color: string;
  readonly x: number;
}

/** The names of the lines in as many rows as they need. */
function legendRows(lines: readonly Line[], width: number): LegendEntry[][] {
  const rows: LegendEntry[][] = [[]];
  let x = 12;
  for (const [n, { name }] of lines.entries()) {
    const room = 26 + name.length * 6.6;
    if (x + room > width) {
      rows.push([]);
      x = 12;
    }
    rows.at(-1)!.push({ name, color: colorOf(n), x });
    x += room;
  }
  return rows;
}

function legendSvg(rows: readonly LegendEntry[][], height: number): string {
  return rows
    .flatMap((row, n) => {
      const y = height - 11 - (rows.length - 1 - n) * LEGEND_ROW;
      return row.map(
        ({ name, color, x }) => `<path d="M${x} ${y - 4}h10" stroke="${color}" stroke-width="3"/>
          <text x="${x + 14}" y="${y}" font-size="11">${escaped(name)}</text>`,
      );
    })
    .join('');
}

function colorOf(line: number): string {
  return COLORS[line % COLORS.length]!;
}

/** Round times between the two, which are s. */
function roundTimes(start: number, end: number): number[] {
  const step = [10, 30, 60, 300, 900].find((one) => (end - start) / one <= 6) ?? 3600;
  const first = Math.ceil(start / step) * step;
  // The last leaves room for its text.
  return Array.from({ length: Math.ceil((end - first) / step) }, (_, n) => first + n * step).filter(
    (time) => end - time > (end - start) / 16,
  );
}

/** The least of 1, 2 and 5 times a power of ten of the unit that is not below the value. */
function niceTop(value: number, unit: string): number {
  if (value <= 0) return 1;
  const scale = unit === 'bytes' ? 1024 ** Math.floor(Math.log2(value) / 10) : 1;
  const power = 10 ** Math.floor(Math.log10(value / scale));
  return [1, 2, 5, 10].map((factor) => factor * power * scale).find((top) => top >= value)!;
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function shownValue(value: number, unit: string): string {
  if (!Number.isFinite(value)) return 'no data';
  const short = (number: number) => String(Number(number.toPrecision(3)));
  if (unit === 'percentunit') return `${short(value * 100)} %`;
  if (unit === 'reqps') return `${short(value)}/s`;
  if (unit === 's') return value < 1 && value > 0 ? `${short(value * 1000)} ms` : `${short(value)} s`;
  if (unit !== 'bytes') return short(value);
  const step = value < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(value) / 10));
  return `${short(value / 1024 ** step)} ${BYTES[step]}`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
