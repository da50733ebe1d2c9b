import type { HttpResponse } from './uws.ts';

/**
 * Response header fields. Only `headers()` makes them, so all are checked for CR and LF, which the binding does not
 * filter. So one call can write them all, which is four times as fast as five calls and saves 5 % of a 304.
 */
export class Headers {
  /** One line for each field. */
  readonly lines: readonly string[];
  readonly #firstName: string;
  /** The value of the first field and the other lines. */
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

  concat(more: Headers): Headers {
    return new Headers([...this.lines, ...more.lines]);
  }

  /** With CORS for every web page; cached. */
  get withCors(): Headers {
    this.#withCors ??= this.concat(CORS);
    return this.#withCors;
  }

  writeTo(res: HttpResponse): void {
    if (this.#firstName !== '') res.writeHeader(this.#firstName, this.#rest);
  }
}

/**
 * Makes header fields of all values but undefined.
 * @throws TypeError for a name or value that would break out of its line
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
