import { setTimeout as delay } from 'node:timers/promises';
import { Agent, fetch, type Response } from 'undici';
import { readSome } from '../../config.ts';
import type { Json } from '../../schemas.ts';
import { type Environment, setting } from '../../setting.ts';
import { baseUrl } from '../../setting-kinds.ts';
import { settingOf } from './setting-of.ts';

type Answers = 'Stats' | 'TakenDown' | 'Unreferenced' | 'MovedImages';
type Page = Json<'OperatedFeeds'> | Json<'Blocks'> | Json<'Reports'>;
type Parameters = Readonly<Record<string, string | number | undefined>>;

const ROOT = '/api/operator';
/** The most attempts of a request that the service does not answer. */
const ATTEMPTS = 5;
/**
 * How long the service may take to answer, ms. Comparing a large image store with the notes takes hours. `pause` is the shortest
 * time from one attempt to the next.
 */
const LIMITS = { images: 6 * 3_600_000, others: 600_000, pause: 2_000 };
/** The client has limits of its own, 5 minutes, after which the request would be sent again. */
const NO_TIME_LIMIT = { allowH2: false, headersTimeout: 0, bodyTimeout: 0 };
/** The longest page of a list. */
const MAX_LIMIT = 1_000;

/** The operator's API of the running service. */
export class OperatedService {
  readonly #url: string;
  readonly #token: string;
  readonly #agent = new Agent(NO_TIME_LIMIT);

  readonly #limits: typeof LIMITS;

  /** The service that the settings name. Throws if there is no token among them. */
  constructor(env: Environment, limits = LIMITS) {
    this.#limits = limits;
    const { port, publicUrl, operatorToken } = readSome(env, ['port', 'publicUrl', 'operatorToken']);
    if (operatorToken === undefined)
      throw new Error('SERVICE_OPERATOR_TOKEN must be set, as for the service.');
    this.#url = settingOf(env, setting('OPERATOR_URL', baseUrl)) ?? publicUrl ?? `http://127.0.0.1:${port}`;
    this.#token = operatorToken;
  }

  /**
   * The answer to a request below `/api/operator`. Retries while the service is unreachable. If only the answer was lost, the
   * repeated request does the same again, or is refused with `not_found`.
   * @throws Error with a sentence for people
   */
  async ask<N extends Answers>(method: string, path: string, body?: unknown): Promise<Json<N>> {
    return JSON.parse(await this.#send(method, path, body)) as Json<N>;
  }

  /** As `ask`, for operations that answer without a body. */
  async tell(method: string, path: string, body?: unknown): Promise<void> {
    await this.#send(method, path, body);
  }

  /**
   * The items of all pages of a list.
   * @param most stops after this many items
   */
  async list<P extends Page, Item>(
    path: string,
    itemsIn: (page: P) => readonly Item[],
    { parameters = {}, most = Infinity }: { readonly parameters?: Parameters; readonly most?: number } = {},
  ): Promise<Item[]> {
    const items: Item[] = [];
    for (let after: string | null = ''; after !== null && items.length < most; ) {
      const query = queryOf({ ...parameters, limit: Math.min(MAX_LIMIT, most - items.length), after });
      const page = JSON.parse(await this.#send('GET', `${path}?${query}`)) as P;
      items.push(...itemsIn(page));
      after = page.next;
    }
    return items;
  }

  /** Returns the body of the answer. */
  async #send(method: string, path: string, body?: unknown): Promise<string> {
    const takesLong = path.startsWith('/images/');
    const limit = takesLong ? this.#limits.images : this.#limits.others;
    const signal = AbortSignal.timeout(limit);
    for (let attempt = 1; ; attempt += 1) {
      const next = performance.now() + this.#limits.pause;
      const reply = await fetch(this.#url + ROOT + path, {
        method,
        dispatcher: this.#agent,
        signal,
        headers: { authorization: `Bearer ${this.#token}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }).catch(() => undefined);
      const answer = reply?.ok ? await reply.text().catch(() => undefined) : undefined;
      if (answer !== undefined) return answer;
      if (signal.aborted)
        throw new Error(
          `The service at ${this.#url} has not answered within ${limit / 60_000} minutes. It may do what was asked all the same.`,
        );
      const isAway = reply === undefined || [502, 503, 504].includes(reply.status);
      if (!isAway || attempt === ATTEMPTS) throw new Error(await this.#reason(reply));
      // A proxy gave up waiting. The service goes on, and a repeated request joins what it does, or comes after it.
      if (takesLong && reply?.status === 504) attempt = 0;
      await delay(Math.max(0, next - performance.now()));
    }
  }

  async #reason(reply: Response | undefined): Promise<string> {
    if (reply === undefined) return `The service does not answer at ${this.#url}.`;
    const said = (await reply.json().catch(() => ({}))) as {
      readonly error?: string;
      readonly code?: string;
    };
    return `The service refuses (${reply.status} ${said.code ?? ''}): ${said.error ?? 'it does not say why.'}`;
  }
}

/** The query of the parameters that have a value. */
function queryOf(parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, `${value}`);
  return query.toString();
}
