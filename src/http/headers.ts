import type { HttpResponse } from './uws.ts';

/**
 * Response header fields. Only `headers()` makes them, so whatever reaches the socket has been checked for CR and LF,
 * which the binding does not filter. That is why one call of it can write them all: a call for each of five takes
 * four times as long, a twentieth of the time of a 304.
 */
export class Headers {
  /** The fields as they are sent, a line each. */
  readonly lines: readonly string[];
  readonly #firstName: string;
  /** The value of the first field, with the other lines behind it. */
  readonly #rest: string;
  #withCors: Headers | undefined;

  /** @internal */
  constructor(lines: readonly string[]) {
    const text = lines.join('\r\n');
    const colon = text.indexOf(': ');
    this.lines = lines;
    this.#firstName = text.slice(0, Math.max(colon, 0));
    this.#rest = text.slice(colon + 2);
  }

  /** These fields and more. */
  and(more: Headers): Headers {
    return new Headers([...this.lines, ...more.lines]);
  }

  /** These fields for an answer that scripts of every web page may read. Made once. */
  get withCors(): Headers {
    this.#withCors ??= this.and(CORS);
    return this.#withCors;
  }

  writeTo(res: HttpResponse): void {
    if (this.#firstName !== '') res.writeHeader(this.#firstName, this.#rest);
  }
}

/**
 * Checked header fields. Undefined values are left out.
 * @throws TypeError for a name or value that would break out of its line.
 */
export function headers(fields: Readonly<Record<string, string | undefined>>): Headers {
  const lines: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (!/^[A-Za-z0-9-]+$/.test(name) || !/^[\t\x20-\x7e]*$/.test(value))
      throw new TypeError(`not a header field: ${JSON.stringify(name)}`);
    lines.push(`${name}: ${value}`);
  }
  return new Headers(lines);
}

const CORS = headers({ 'Access-Control-Allow-Origin': '*' });
