import type { FuzzRequest } from './requests.ts';

/** A note that was posted, as far as later requests use it. */
interface Posted {
  readonly url: string;
  readonly id: string;
  readonly file: string;
  readonly read: string;
}

const KEPT = 20;
const NOTHING: Posted = {
  url: '/fuzzed-write-key-a/no-note',
  id: 'no-note',
  file: 'no-note.md',
  read: 'no-read-id',
};

/** What the answers so far have told of: the newest notes. */
export class Known {
  readonly #posted: Posted[] = [];

  /** Takes note of what a post was answered. */
  learn(created: { url: string; id: string; file: string; read_url: string }): void {
    const { url, id, file, read_url } = created;
    this.#posted.push({
      url: new URL(url).pathname,
      id,
      file,
      read: new URL(read_url).pathname.split('/')[2] ?? '',
    });
    if (this.#posted.length > KEPT) this.#posted.shift();
  }

  /** The request with what its marks stand for. */
  fill(request: FuzzRequest): FuzzRequest {
    return {
      ...request,
      path: this.#filled(request.path),
      headers: request.headers.map(([name, value]) => [name, this.#filled(value)] as const),
      // latin1 keeps every byte as it is.
      body: Buffer.from(this.#filled(request.body.toString('latin1')), 'latin1'),
    };
  }

  #filled(text: string): string {
    return text.replace(/\{(url|id|file|read) (\d+)\}/g, (_, kind: keyof Posted, number) => {
      const posted = this.#posted[Number(number) % (this.#posted.length || 1)];
      return (posted ?? NOTHING)[kind];
    });
  }
}
