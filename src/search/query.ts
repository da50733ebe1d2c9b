import { Refusal } from '../refusals.ts';
import { isUnspaced, wordsOf } from './words.ts';

/** The longest query, in characters (code points). */
export const QUERY_LENGTH = 200;
export const QUERY_RULE =
  'words that must all be there, "a phrase", begin* for what a word begins with, and -word for what must not be there';

/** Adjacent words. */
export interface Term {
  /** One at least, as `wordsOf` gives them. */
  readonly words: readonly string[];
  /** The last one only has to begin a word. */
  readonly isPrefix: boolean;
}

/** What a note must have, and must not have, to be found. */
export interface SearchQuery {
  /** One at least. */
  readonly all: readonly Term[];
  readonly none: readonly Term[];
}

/** A term as people write it: an optional `-`, a phrase in quotes or a word, and an optional `*`. */
const TERM = /(-?)(?:"([^"]*)"?|([^\s"]+))(\*?)/g;

/**
 * Parses a query as a person writes it (contract §14). A sign has a meaning only as `"`, as `-` before a term and as `*` behind one; any other sign separates words.
 * Words with a sign but no space between them, such as `foo-bar`, are a phrase.
 * @throws Refusal `invalid_request` if it is too long, or has no word to be found
 */
export function parseQuery(text: string): SearchQuery {
  if (text.length > 2 * QUERY_LENGTH || [...text].length > QUERY_LENGTH)
    throw new Refusal('invalid_request', `q must be at most ${QUERY_LENGTH} characters long.`);
  const all: Term[] = [];
  const none: Term[] = [];
  for (const [, minus, phrase, word = '', star] of text.matchAll(TERM)) {
    const written = phrase ?? word;
    const words = Array.from(wordsOf(written), (one) => one.word);
    if (words.length === 0) continue;
    const isPrefix = (star !== '' || written.endsWith('*')) && !isUnspaced(words.at(-1)!);
    (minus === '' ? all : none).push({ words, isPrefix });
  }
  if (all.length === 0) throw new Refusal('invalid_request', `q needs a word to find: ${QUERY_RULE}.`);
  return { all, none };
}

/** Tells a query from all others. */
export function queryKey({ all, none }: SearchQuery): string {
  const written = (terms: readonly Term[]) =>
    terms.map(({ words, isPrefix }) => `"${words.join(' ')}${isPrefix ? '*' : ''}"`);
  return [...written(all), ...written(none).map((term) => `-${term}`)].join(' ');
}
