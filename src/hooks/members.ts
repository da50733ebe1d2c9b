import { cutAtWord, shownOneLine } from '../feeds/text.ts';
import { Refusal } from '../refusals.ts';

/** How deep a payload may be nested: deeper than any sender's, and far less than a stack allows. */
const MAX_DEPTH = 32;
/** Characters of a member's path that a refusal repeats: labels have any name. */
const SHOWN_LENGTH = 100;

/**
 * The members of an object in a payload, read by their types. What a sender may leave out, null included, is an empty text, an
 * empty list or an object without members. Throws a Refusal `invalid_body` that names the member with another type.
 */
export class Members {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #path: string;

  /** @param path of the object in the payload; empty for the payload itself */
  constructor(value: unknown, path = '') {
    if (!isObject(value)) throw wrong(path, 'an object');
    this.#values = value;
    this.#path = path;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name) && this.#values[name] != null;
  }

  get names(): string[] {
    return Object.keys(this.#values).filter((name) => this.has(name));
  }

  /** A text, or a number or truth value as text; well-formed, because JSON may hold half of a character. */
  text(name: string): string {
    const value = this.has(name) ? this.#values[name] : '';
    if (typeof value === 'object') throw wrong(this.#pathOf(name), 'a text');
    return String(value).toWellFormed();
  }

  /** A text that must be there and not be blank. */
  needed(name: string): string {
    const text = this.text(name);
    if (text.trim() === '') throw wrong(this.#pathOf(name), 'a text');
    return text;
  }

  is(name: string): boolean {
    return this.has(name) && this.#values[name] === true;
  }

  number(name: string): number | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#values[name];
    if (typeof value !== 'number') throw wrong(this.#pathOf(name), 'a number');
    return value;
  }

  object(name: string): Members {
    return new Members(this.has(name) ? this.#values[name] : {}, this.#pathOf(name));
  }

  /** The objects of an array. */
  list(name: string): Members[] {
    const value = this.has(name) ? this.#values[name] : [];
    if (!Array.isArray(value)) throw wrong(this.#pathOf(name), 'an array');
    return value.map((item, at) => new Members(item, `${this.#pathOf(name)}.${at}`));
  }

  /** The refusal of a member that is not there or cannot be used. */
  refusal(name: string, kind: string): Refusal {
    return wrong(this.#pathOf(name), kind);
  }

  #pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }
}

/** @throws Refusal `invalid_body` for a payload that is nested too deep to be read */
export function refuseDeep(payload: unknown, depth = 0): void {
  if (typeof payload !== 'object' || payload === null) return;
  if (depth === MAX_DEPTH)
    throw new Refusal('invalid_body', `The body may be nested at most ${MAX_DEPTH} levels deep.`);
  for (const value of Object.values(payload)) refuseDeep(value, depth + 1);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(path: string, kind: string): Refusal {
  const what =
    path === '' ? 'The body' : `The member "${cutAtWord(shownOneLine(path), SHOWN_LENGTH)}" of the body`;
  return new Refusal('invalid_body', `${what} must be ${kind}${path === '' ? ' in JSON' : ''}.`);
}
