import { ask, type Reply } from './service.ts';

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

type ScriptRequest = Omit<RequestInit, 'headers'> & { readonly headers?: Record<string, string> };
type Fields = Readonly<Record<string, string>> | readonly (readonly [string, string])[];

let clients = 0;

/**
 * A browser's cookies and `Sec-Fetch-Site`, without a browser: it sends the cookies that fit a path. Each instance has its own
 * client address if the service trusts its proxy.
 */
export class Browser {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #cookies = new Map<string, Cookie>();

  /** @param headers sent with every request */
  constructor(url: string, headers: Record<string, string> = {}) {
    clients += 1;
    this.#url = url;
    this.#headers = { 'x-forwarded-for': `10.9.${clients >> 8}.${clients & 255}`, ...headers };
  }

  /** Another one with the same cookies. */
  copy(): Browser {
    const other = new Browser(this.#url, this.#headers);
    for (const [key, cookie] of this.#cookies) other.#cookies.set(key, cookie);
    return other;
  }

  /** Goes to a page, as by a link of another site. */
  visit(path: string, headers: Record<string, string> = {}): Promise<Reply> {
    return this.#send(path, { headers: { accept: 'text/html', 'sec-fetch-site': 'cross-site', ...headers } });
  }

  /** Sends a form of a page of the instance. */
  submit(path: string, fields: Fields, headers: Record<string, string> = {}): Promise<Reply> {
    const body = new URLSearchParams(fields as Record<string, string>).toString();
    const type = 'application/x-www-form-urlencoded';
    const sent = { accept: 'text/html', 'content-type': type, 'sec-fetch-site': 'same-origin', ...headers };
    return this.#send(path, { method: 'POST', body, headers: dropEmpty(sent) });
  }

  /** What a script of a page sends. An empty header is left out. */
  fetch(path: string, init: ScriptRequest = {}): Promise<Reply> {
    const headers = { 'sec-fetch-site': 'same-origin', ...init.headers };
    return this.#send(path, { ...init, headers: dropEmpty(headers) });
  }

  /** What it sends as `Cookie` with a request for this path. */
  cookiesFor(path: string): string {
    return [...this.#cookies.values()]
      .filter((one) => one.path === '/' || path === one.path || path.startsWith(`${one.path}/`))
      .sort((a, b) => b.path.length - a.path.length)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  /** Takes cookies as `Set-Cookie` gives them. */
  take(setCookies: readonly string[]): void {
    for (const text of setCookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      const path = /; Path=([^;]+)/.exec(text)?.[1] ?? '';
      if (/; Max-Age=0/.test(text)) this.#cookies.delete(`${name} ${path}`);
      else this.#cookies.set(`${name} ${path}`, { name, value, path });
    }
  }

  async #send(path: string, init: ScriptRequest): Promise<Reply> {
    const cookie = this.cookiesFor(new URL(path, this.#url).pathname);
    const headers = { ...this.#headers, ...(cookie && { cookie }), ...init.headers };
    const reply = await ask(this.#url + path, { ...init, headers });
    this.take(reply.headers.getSetCookie());
    return reply;
  }
}

function dropEmpty(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
}
