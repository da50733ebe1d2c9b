import { readdirSync, readFileSync } from 'node:fs';

const RESIDENT_KB = /^VmRSS:\s+(\d+) kB/m;

/** What clients saw since the last sample: times in ms, by kind of request, and how many answers were refusals. */
export interface Interval {
  readonly times: Readonly<Record<'posts' | 'polls' | 'searches', readonly number[]>>;
  readonly requests: number;
  /** Answers 5xx. */
  readonly failed: number;
  /** Requests that broke off or reached nobody. */
  readonly unreached: number;
  readonly seconds: number;
}

/** What the process that is not killed says of its memory, MB; `NaN` if it does not answer. */
export interface Inside {
  readonly heap: number;
  /** What JavaScript's objects hold outside of the heap: the bytes of buffers, mostly. */
  readonly external: number;
  /** The read cache, which is part of the two above. */
  readonly cache: number;
}

/** The state of all processes at one moment, and what clients saw before it. */
export interface Sample {
  /** Minutes since the beginning. */
  readonly at: number;
  /** Resident memory of each process, MB; NaN while it is not there. */
  readonly memory: readonly number[];
  readonly inside: Inside;
  readonly files: readonly number[];
  readonly posts: number;
  readonly polls: number;
  readonly searches: number;
  readonly perSecond: number;
  readonly failed: number;
  readonly unreached: number;
}

/** Measures the processes now, and takes the p99 of the times that clients measured. */
export function sampleOf(at: number, pids: readonly number[], inside: Inside, interval: Interval): Sample {
  const { times, requests, failed, unreached, seconds } = interval;
  return {
    at,
    inside,
    memory: pids.map((pid) => look(() => megabytes(pid))),
    files: pids.map((pid) => look(() => readdirSync(`/proc/${pid}/fd`).length)),
    posts: p99(times.posts),
    polls: p99(times.polls),
    searches: p99(times.searches),
    perSecond: requests / seconds,
    failed,
    unreached,
  };
}

/** Asks a process for its metrics. */
export async function insideOf(url: string): Promise<Inside> {
  const text = await fetch(`${url}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  const megabytesOf = (name: string) =>
    Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN) / 2 ** 20;
  return {
    heap: megabytesOf('nodejs_heap_size_used_bytes'),
    external: megabytesOf('nodejs_external_memory_bytes'),
    cache: megabytesOf('service_cache_bytes'),
  };
}

function megabytes(pid: number): number {
  return Number(RESIDENT_KB.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024;
}

function look(value: () => number): number {
  try {
    return value();
  } catch {
    return Number.NaN;
  }
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}

const [WIDTH, HEIGHT, LEFT, GAP] = [900, 110, 60, 34];
const COLOURS = ['#1b6ca8', '#c0392b', '#27ae60'];

/** An SVG with a chart for each figure, all over the same time. */
export function draw(title: string, samples: readonly Sample[]): string {
  const charts: [string, (sample: Sample) => readonly number[]][] = [
    ['memory of each process, MB', ({ memory }) => memory],
    [
      'of the one that is not killed: JavaScript heap (blue), outside of it (red), read cache (green), MB',
      ({ inside }) => [inside.heap, inside.external, inside.cache],
    ],
    ['open files of each process', ({ files }) => files],
    [
      'posts (blue), polls (red), searches (green): p99, ms',
      ({ posts, polls, searches }) => [posts, polls, searches],
    ],
    ['requests a second', ({ perSecond }) => [perSecond]],
    [
      'answers 5xx (blue), unreached (red) since the last sample',
      ({ failed, unreached }) => [failed, unreached],
    ],
  ];
  const height = charts.length * (HEIGHT + GAP) + GAP;
  const parts = charts.map(([name, values], n) => chart(name, samples, values, GAP + n * (HEIGHT + GAP)));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${LEFT + WIDTH + 20}" height="${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/><text x="${LEFT}" y="16" font-weight="bold">${title}</text>
${parts.join('\n')}
</svg>
`;
}

function chart(
  name: string,
  samples: readonly Sample[],
  values: (sample: Sample) => readonly number[],
  top: number,
): string {
  const lines = values(samples[0]!).map((_, n) => samples.map((sample) => values(sample)[n]!));
  const highest = Math.max(1, ...lines.flat().filter(Number.isFinite));
  const last = samples.at(-1)!.at;
  const x = (at: number) => (LEFT + (at / last) * WIDTH).toFixed(1);
  const y = (value: number) => (top + 14 + (1 - value / highest) * (HEIGHT - 14)).toFixed(1);
  const paths = lines.map((line, n) => {
    const points = line.map((value, i) => (Number.isFinite(value) ? `${x(samples[i]!.at)},${y(value)}` : ''));
    const path = points.filter(Boolean).join(' ');
    return `<polyline points="${path}" fill="none" stroke="${COLOURS[n]}" stroke-width="1"/>`;
  });
  return `<text x="${LEFT}" y="${top + 8}">${name}</text><text x="4" y="${top + 24}">${highest.toFixed(0)}</text><text x="4" y="${top + HEIGHT}">0</text>
<line x1="${LEFT}" x2="${LEFT + WIDTH}" y1="${top + HEIGHT}" y2="${top + HEIGHT}" stroke="#999"/><text x="${LEFT + WIDTH - 40}" y="${top + HEIGHT + 12}">${last.toFixed(0)} min</text>
${paths.join('\n')}`;
}
