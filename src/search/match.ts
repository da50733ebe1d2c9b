import type { SearchQuery, Term } from './query.ts';
import { isLowSurrogate, type Word, wordsOf } from './words.ts';

/** What of a note is searched, as people read it. */
export interface SearchedNote {
  readonly title: string;
  /** Of a text: without marks, link targets only where they are shown. */
  readonly text: string;
  readonly alt: string;
  readonly name: string;
  readonly tags: readonly string[];
}

/** Where a note was found. */
export interface Match {
  /** An excerpt of the plain text around the first match. */
  readonly text: string;
  /** The places of matches in the excerpt, in UTF-16 units: in order, none touches another. */
  readonly marks: readonly (readonly [start: number, end: number])[];
}

/** Only the beginning of a longer text is searched: people can place files of any size. */
export const MAX_SEARCHED_BYTES = 4 * 1024 * 1024;
/** The longest excerpt, in UTF-16 units. */
const EXCERPT_LENGTH = 200;
/** The most of an excerpt before its first mark, in UTF-16 units. */
const BEFORE = 60;

/** The texts of a note, in the order of preference for the excerpt. Each is searched by itself, so no phrase spans two of them. */
export function searchedTexts({ text, title, alt, name, tags }: SearchedNote): readonly string[] {
  return [text, title, alt, name, ...tags].filter((one) => one !== '');
}

/** Where the note is found; undefined if the query does not find it. */
export function findMatch(query: SearchQuery, note: SearchedNote): Match | undefined {
  const texts = searchedTexts(note).map((one) => one.replace(/\s+/g, ' ').trim());
  const words = texts.map((text) => [...wordsOf(text)]);
  const isThere = (term: Term) => words.some((some) => firstStart(term, some) < Number.POSITIVE_INFINITY);
  if (!query.all.every(isThere) || query.none.some(isThere)) return undefined;
  for (const [n, text] of texts.entries()) {
    const first = Math.min(...query.all.map((term) => firstStart(term, words[n]!)));
    if (first < Number.POSITIVE_INFINITY) return excerptOf(text, words[n]!, query.all, first);
  }
  return undefined;
}

type Place = readonly [start: number, end: number];

/** The places of a term in a text, in order, as far as they begin before `end`. */
function* placesOf(
  { words, isPrefix }: Term,
  text: readonly Word[],
  end = Number.POSITIVE_INFINITY,
): Generator<Place> {
  const last = words.length - 1;
  for (let at = 0; at + last < text.length && text[at]!.start < end; at += 1) {
    const isHere = words.every((word, n) =>
      n === last && isPrefix ? text[at + n]!.word.startsWith(word) : text[at + n]!.word === word,
    );
    if (isHere) yield [text[at]!.start, text[at + last]!.end];
  }
}

/** Where the first place of a term begins; infinite if there is none. */
function firstStart(term: Term, text: readonly Word[]): number {
  for (const [start] of placesOf(term, text)) return start;
  return Number.POSITIVE_INFINITY;
}

/**
 * Looks for no places behind the excerpt: each term may have as many as the text has words.
 * @param first where the first of all places begins
 */
function excerptOf(text: string, words: readonly Word[], terms: readonly Term[], first: number): Match {
  const begin = excerptStart(text, first);
  const end = excerptEnd(text, begin);
  const places = terms.flatMap((term) => [...placesOf(term, words, end)]).sort(([a], [b]) => a - b);
  const merged: [number, number][] = [];
  for (const [start, stop] of places) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], stop);
    else merged.push([start, stop]);
  }
  const marks = merged.map(([start, stop]): Place => [start - begin, Math.min(stop, end) - begin]);
  return { text: text.slice(begin, end), marks };
}

/** Some words before the first place, fewer if the text ends soon after it. */
function excerptStart(text: string, first: number): number {
  const earliest = Math.max(0, Math.min(first - BEFORE, text.length - EXCERPT_LENGTH));
  if (earliest === 0) return 0;
  const space = text.indexOf(' ', earliest);
  const start = space < 0 || space >= first ? earliest : space + 1;
  return isLowSurrogate(text, start) ? start + 1 : start;
}

function excerptEnd(text: string, begin: number): number {
  const end = Math.min(text.length, begin + EXCERPT_LENGTH);
  if (end === text.length) return end;
  const space = text.lastIndexOf(' ', end);
  if (space > begin + EXCERPT_LENGTH / 2) return space;
  return isLowSurrogate(text, end) ? end - 1 : end;
}
