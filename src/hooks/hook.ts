import { hash } from 'node:crypto';
import { tagFrom } from '../feeds/tags.ts';
import { cutTitle } from '../feeds/text.ts';

/** A note that a payload becomes. */
export interface HookNote {
  readonly markdown: string;
  /** One line of at most 100 characters. Undefined or empty if the text begins with a title of its own. */
  readonly title?: string | undefined;
  readonly tags: readonly string[];
  /** Names what the note is about: a later note with it replaces this one. */
  readonly key?: string | undefined;
}

/** The value of a request header by its lower-case name; undefined if it was not sent. */
export type HeaderOf = (name: string) => string | undefined;

/** A sender of payloads. */
export interface HookKind {
  /** Whether the payload may come as the field `payload` of a form. */
  readonly takesForm?: boolean;
  /** Request headers that `notes` looks at, in lower case. */
  readonly headers?: readonly string[];
  /**
   * Whether a request shows that its sender knows the secret of the address; undefined if it does not try. Senders that
   * know no secrets are without this function.
   */
  readonly knowsSecret?: (secret: string, body: Uint8Array, header: HeaderOf) => boolean | undefined;
  /** What the sender expects: the text `ok`, nothing unless it waits for an answer (`?wait=true`), or JSON with the note's id. */
  readonly answer: 'ok' | 'nothing' | 'id';
  /**
   * The notes of a payload; none for an event that nobody watches. Deep payloads are refused before (`refuseDeep`).
   * @throws Refusal `invalid_body` naming the member that cannot be read
   */
  notes(payload: unknown, header: HeaderOf): readonly HookNote[];
}

/** A text as a title. Titles are not markdown, so nothing is escaped. */
export function titled(text: string): string {
  return cutTitle(text).toWellFormed();
}

/** A title that begins with a state, for example `Firing: The disk is full`. */
export function stateTitle(state: string, name: string): string {
  return titled(`${state.charAt(0).toUpperCase()}${state.slice(1)}: ${name}`);
}

/** A time for people, from its ISO form in UTC: `2026-11-23 20:15 UTC`. */
export function timeText(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`;
}

/** Tags made of texts (`tagFrom`); those without a letter or digit are left out. */
export function tagsOf(...texts: readonly string[]): string[] {
  return [...new Set(texts.map(tagFrom))].filter((tag) => /[\p{L}\p{Nd}]/u.test(tag));
}

/** A key of texts that name a thing together; their hash if they are long or have other characters than keys have. */
export function keyOf(kind: string, ...names: readonly string[]): string {
  const name = names.join(':');
  return `${kind}:${/^[\w.:/+-]{1,160}$/.test(name) ? name : hash('sha256', JSON.stringify(names), 'base64url')}`;
}
