import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { program } from './installed.ts';
import { ask, tempDir } from './service.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');

interface Scope {
  teardown(fn: () => unknown): void;
}

/** A time series of a query's answer: its labels, and its samples, each a time in s and a value. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [time: number, value: number])[];
}

interface Scraped {
  /** The address of the service that is scraped. */
  readonly url: string;
  readonly token: string;
  /** Interval of scrapes and of looking at the alerts, as Prometheus writes it. */
  readonly interval: string;
}

/** Debian's Prometheus with the configuration and the alerts of `deploy/prometheus/`, for one service. */
export class Prometheus {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Settles when it answers; killed when the test ends. */
  static async start(t: Scope, { url, token, interval }: Scraped): Promise<Prometheus> {
    const folder = await tempDir(t);
    await cp(join(DEPLOY, 'prometheus'), folder, { recursive: true });
    await writeFile(join(folder, 'metrics_token'), token);
    const file = join(folder, 'prometheus.yml');
    const config = parse(await readFile(file, 'utf8'));
    config.global = { scrape_interval: interval, evaluation_interval: interval };
    config.scrape_configs[0].static_configs[0].targets = [new URL(url).host];
    await writeFile(file, stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn(
      program('prometheus'),
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
      ],
      { stdio: 'ignore' },
    );
    t.teardown(async () => {
      const exit = once(child, 'exit');
      if (child.kill('SIGKILL')) await exit;
    });
    const prometheus = new Prometheus(`http://${address}`);
    const answers = () =>
      fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    if (!(await eventually(answers))) throw new Error('Prometheus does not start');
    return prometheus;
  }

  /** What a query answers now. Throws what Prometheus says is wrong with it. */
  async query(query: string): Promise<Series[]> {
    const result = await this.#get('query', { query });
    return result.map(({ metric, value }) => ({ metric, values: [numbers(value!)] }));
  }

  /** What a query answers for each `step` s of a time, given in s since the epoch. */
  async queryRange(query: string, start: number, end: number, step: number): Promise<Series[]> {
    const result = await this.#get('query_range', { query, start, end, step });
    return result.map(({ metric, values }) => ({ metric, values: values!.map(numbers) }));
  }

  /** The alerts by their names: `ok` if they could be evaluated. */
  async alertHealth(): Promise<Map<string, string>> {
    const { data } = await this.#ask('rules');
    const rules: { name: string; health: string }[] = data.groups.flatMap(
      ({ rules }: { rules: unknown[] }) => rules,
    );
    return new Map(rules.map(({ name, health }) => [name, health]));
  }

  async #get(path: string, parameters: Record<string, string | number>): Promise<Result[]> {
    return (await this.#ask(path, parameters)).data.result;
  }

  // biome-ignore lint/suspicious/noExplicitAny: an answer of Prometheus
  async #ask(path: string, parameters: Record<string, string | number> = {}): Promise<any> {
    const url = new URL(`${this.#url}/api/v1/${path}`);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, String(value));
    const { json } = await ask(url.href);
    if (json.status !== 'success') throw new Error(json.error);
    return json;
  }
}

type Sample = readonly [time: number, value: string];

interface Result {
  readonly metric: Record<string, string>;
  readonly value?: Sample;
  readonly values?: readonly Sample[];
}

function numbers([time, value]: Sample): readonly [number, number] {
  return [time, Number(value)];
}

/** A panel of the dashboard. */
export interface Panel {
  readonly type: 'stat' | 'timeseries';
  readonly title: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly fieldConfig: {
    readonly defaults: {
      readonly unit: string;
      readonly max?: number;
      readonly thresholds?: {
        readonly steps: readonly { readonly color: string; readonly value: number | null }[];
      };
      readonly mappings?: readonly {
        readonly options: Readonly<Record<string, { readonly text: string }>>;
      }[];
    };
  };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

/** `deploy/grafana/dashboard.json`, as far as it is looked at here. */
interface Dashboard {
  readonly panels: readonly Panel[];
  /** What marks times in all panels. */
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}

export async function readDashboard(): Promise<Dashboard> {
  return JSON.parse(await readFile(join(DEPLOY, 'grafana/dashboard.json'), 'utf8'));
}

/** A query of the dashboard as Grafana sends it, for all instances. */
export function filledQuery(expr: string, rateInterval: string): string {
  return expr.replaceAll('$__rate_interval', rateInterval).replaceAll('$instance', '.*');
}
