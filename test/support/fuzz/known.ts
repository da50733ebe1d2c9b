import { licenseFor } from '../licenses.ts';
import type { RawResponse } from '../raw-connection.ts';
import type { FuzzRequest } from './requests.ts';
import { FEED_PASSWORD, LOCKED_FEEDS, RESERVED_FEED, RESERVED_PASSWORD } from './values.ts';

/** A note that was posted, as far as later requests use it. */
interface Posted {
  readonly feed: string;
  readonly url: string;
  readonly id: string;
  readonly file: string;
  readonly read: string;
  /** Of its feed; empty if it was posted without one. */
  readonly password: string;
}

/** Members of the answers to posts, of lists for the operator, and of OAuth. */
interface Told {
  readonly url?: string;
  readonly id?: string;
  readonly file?: string;
  readonly read_url?: string | null;
  readonly reports?: readonly { readonly id: string }[];
  readonly blocks?: readonly { readonly kind: string; readonly key: string }[];
  readonly client_id?: string;
  readonly access_token?: string;
  readonly refresh_token?: string;
}

const KEPT = 20;
/** The longest body that is looked through for marks, bytes. */
const MAX_MARKED = 4_096;
const MARK =
  /\{(url|id|file|read|feed|password|asset|client|code|token|refresh|report|sha|link|license|zip) (\d+)\}/g;
const NOTHING: Posted = {
  feed: 'fuzzed-write-key-a',
  url: '/fuzzed-write-key-a/no-note',
  id: 'no-note',
  file: 'no-note.md',
  read: 'no-read-id',
  password: '',
};

/** What the answers so far have told of: the newest notes, and the newest of what there is one of. */
export class Known {
  readonly #posted: Posted[] = [];
  readonly #assets: string[] = [];
  readonly #newest: Record<string, string> = { license: licenseFor({ feeds: 1_000 }) };

  /** Takes note of what an answer tells. */
  learn({ path }: FuzzRequest, { status, headers, body }: RawResponse): void {
    if (status === 303 || status === 302) {
      const code = /[?&]code=([^&]+)/.exec(headers.location ?? '')?.[1];
      if (code !== undefined) this.#newest.code = decodeURIComponent(code);
    }
    if (status !== 200 && status !== 201) return;
    const type = headers['content-type'] ?? '';
    if (type.startsWith('application/zip')) this.#newest.zip = body.toString('latin1');
    if (path === '/' && type.startsWith('text/html') && this.#assets.length === 0)
      for (const [, file] of body.toString().matchAll(/\/static\/([\w.-]+)/g)) this.#assets.push(file!);
    if (headers['content-encoding'] !== undefined || !type.startsWith('application/json')) return;
    if (status === 201 || /^\/(?:api\/operator|oauth)/.test(path))
      this.#learnJson(JSON.parse(body.toString()));
  }

  #learnJson(told: Told): void {
    const { client_id: client, access_token: token, refresh_token: refresh } = told;
    const report = told.reports?.at(-1)?.id;
    for (const [kind, value] of Object.entries({ client, token, refresh, report }))
      if (value !== undefined) this.#newest[kind] = value;
    for (const { kind, key } of told.blocks ?? []) {
      if (kind === 'picture') this.#newest.sha = key;
      if (kind === 'link') this.#newest.link = key;
    }
    const { url, id, file, read_url } = told;
    if (url === undefined || id === undefined || file === undefined) return;
    const path = new URL(url).pathname;
    const feed = path.split('/')[1]!;
    const password =
      feed === RESERVED_FEED
        ? RESERVED_PASSWORD
        : LOCKED_FEEDS.some((name) => name === feed)
          ? FEED_PASSWORD
          : '';
    const read = (read_url && new URL(read_url).pathname.split('/')[2]) || NOTHING.read;
    this.#posted.push({ feed, url: path, id, file, read, password });
    if (this.#posted.length > KEPT) this.#posted.shift();
  }

  /** The request with what its marks stand for. */
  fill(request: FuzzRequest): FuzzRequest {
    const { body } = request;
    const hasMarks = body.length <= MAX_MARKED && body.includes('{');
    return {
      ...request,
      path: this.#filled(request.path),
      headers: request.headers
        .map(([name, value]) => [name, this.#filled(value)] as const)
        .filter(([, value], at) => value !== '' || request.headers[at]![1] === ''),
      // latin1 keeps every byte as it is.
      body: hasMarks ? Buffer.from(this.#filled(body.toString('latin1')), 'latin1') : body,
    };
  }

  #filled(text: string): string {
    return text.replace(MARK, (_, kind: string, digits: string) => {
      const number = Number(digits);
      if (kind === 'asset') return this.#assets[number % (this.#assets.length || 1)] ?? 'none.js';
      const posted = this.#posted[number % (this.#posted.length || 1)] ?? NOTHING;
      return kind in posted ? posted[kind as keyof Posted] : (this.#newest[kind] ?? 'none');
    });
  }
}
