import { FORM_TYPE, formBody, type SentPart } from './multipart.ts';
import { ask, post, type Reply } from './service.ts';

/** Requests of somebody who knows a feed's name, with the headers that let them in. */
export class FeedClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly name: string;

  constructor(url: string, name: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.name = name;
    this.#headers = headers;
  }

  /** The address of its record. */
  get record(): string {
    return `${this.#url}/api/v1/feeds/${this.name}`;
  }

  /** The same feed with other headers added. */
  with(headers: Record<string, string>): FeedClient {
    return new FeedClient(this.#url, this.name, { ...this.#headers, ...headers });
  }

  post(body: string | Uint8Array<ArrayBuffer> = 'x', headers: Record<string, string> = {}): Promise<Reply> {
    return post(`${this.#url}/${this.name}`, body, { ...this.#headers, ...headers });
  }

  /** Posts a form. */
  postForm(parts: readonly SentPart[], headers: Record<string, string> = {}): Promise<Reply> {
    return this.post(formBody(parts), { 'content-type': FORM_TYPE, ...headers });
  }

  /** Replaces a note by a body. */
  put(path: string, body: string | Uint8Array<ArrayBuffer>): Promise<Reply> {
    return ask(this.record + path, { method: 'PUT', headers: this.#headers, body });
  }

  /** Replaces a note by a form. */
  putForm(id: string, parts: readonly SentPart[]): Promise<Reply> {
    const headers = { ...this.#headers, 'content-type': FORM_TYPE };
    return ask(`${this.record}/notes/${id}`, { method: 'PUT', headers, body: formBody(parts) });
  }

  get(path = ''): Promise<Reply> {
    return ask(this.record + path, { headers: this.#headers });
  }

  list(query = ''): Promise<Reply> {
    return this.get(`/notes${query}`);
  }

  /** Replaces title and description, and what else is given. */
  set(settings: Record<string, unknown> = {}): Promise<Reply> {
    return this.send('PUT', '', JSON.stringify({ title: '', description: '', ...settings }));
  }

  /** A request with a JSON body below the record's address. */
  send(method: string, path = '', body: string | null = null): Promise<Reply> {
    const headers = { ...this.#headers, 'content-type': 'application/json' };
    return ask(this.record + path, { method, headers, body });
  }

  delete(): Promise<Reply> {
    return this.send('DELETE');
  }
}

/** The read id in an address below `/r/`. */
export function readIdIn(address: string): string {
  return /\/r\/([^/]+)\//.exec(address)?.[1] ?? '';
}
