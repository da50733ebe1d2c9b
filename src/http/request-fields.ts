import { Refusal } from '../refusals.ts';
import type { HttpRequest } from './uws.ts';

/**
 * Fields whose lines are one list (RFC 9110 §5.3), and fields whose readers ignore or refuse a list themselves (RFC 9110
 * §13.1.3, §13.1.5, §14.2; RFC 9112 §6.3). All others have one value.
 */
const JOINED: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-length',
  'cookie',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'range',
  'transfer-encoding',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-note-tags',
]);

const REPLACEMENT = '\ufffd';
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The header fields of a request. Read all at once, because the binding's access by name gives the first line of a name
 * only, decoded as Latin-1.
 */
export class RequestFields {
  /** Lower-case names and values by turns, which is faster to make than a map. */
  readonly #lines: string[] = [];
  #undecodable: Set<string> | undefined;

  constructor(req: HttpRequest) {
    const lines = this.#lines;
    req.forEach((name, value) => {
      if (value.includes(REPLACEMENT)) this.#checkReplacement(req, name);
      lines.push(name, value);
    });
  }

  /** The lower-case name of each line. */
  get names(): readonly string[] {
    return this.#lines.filter((_, at) => at % 2 === 0);
  }

  /** The lines of a lower-case name joined by commas, whatever is in them; undefined if there is none. */
  joined(name: string): string | undefined {
    return this.#join(name, ', ', true);
  }

  /**
   * The value of a field by its lower-case name; undefined if it was not sent.
   * @param isLenient leaves out bytes that are not UTF-8
   * @throws Refusal `invalid_request` for such bytes otherwise, and for several lines of a field that is not a list
   */
  value(name: string, isLenient: boolean): string | undefined {
    // RFC 9113 §8.2.3
    const value = this.#join(name, name === 'cookie' ? '; ' : ', ', false);
    if (!this.#undecodable?.has(name)) return value;
    if (isLenient) return value?.replaceAll(REPLACEMENT, '');
    throw new Refusal('invalid_request', `The header ${name} is not valid UTF-8.`);
  }

  #join(name: string, separator: string, joinsAny: boolean): string | undefined {
    const lines = this.#lines;
    let joined: string | undefined;
    for (let at = 0; at < lines.length; at += 2) {
      if (lines[at] !== name) continue;
      if (joined === undefined) joined = lines[at + 1]!;
      else if (joinsAny || JOINED.has(name)) joined += separator + lines[at + 1]!;
      else throw new Refusal('invalid_request', `The header ${name} may be sent only once.`);
    }
    return joined;
  }

  /** Records a field with bytes that are not UTF-8. Only the first line of a name has its raw bytes. */
  #checkReplacement(req: HttpRequest, name: string): void {
    if (this.joined(name) === undefined && isUtf8(req.getHeader(name))) return;
    this.#undecodable ??= new Set();
    this.#undecodable.add(name);
  }
}

/** @param bytes one in each character */
function isUtf8(bytes: string): boolean {
  try {
    strictUtf8.decode(Buffer.from(bytes, 'latin1'));
    return true;
  } catch {
    return false;
  }
}
