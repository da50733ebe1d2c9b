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
  const words = texts.map(placed);
  const isThere = (term: Term) => words.some((some) => firstPlace(term, some) < Number.POSITIVE_INFINITY);
  if (!query.all.every(isThere) || query.none.some(isThere)) return undefined;
  for (const [n, text] of texts.entries()) {
    const first = Math.min(...query.all.map((term) => firstPlace(term, words[n]!)));
    if (first < Number.POSITIVE_INFINITY) return excerptOf(text, words[n]!.all, query.all, first);
  }
  return undefined;
}

/** The words of a text. */
interface PlacedWords {
  readonly all: readonly Word[];
  /** The places of each in `all`. The words are in the order of their first places. */
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/** Going through all words for each word of a query would take 5 million steps for a text. */
function placed(text: string): PlacedWords {
  const all = [...wordsOf(text)];
  const places = new Map<string, number[]>();
  for (const [at, { word }] of all.entries()) {
    const known = places.get(word);
    if (known) known.push(at);
    else places.set(word, [at]);
  }
  return { all, places };
}

/** The first word of the first place of a term; infinite if there is none. */
function firstPlace(term: Term, { all, places }: PlacedWords): number {
  const [first, ...others] = term.words;
  if (term.isPrefix && others.length === 0) {
    for (const [word, [at]] of places) if (word.startsWith(first!)) return at!;
  } else for (const at of places.get(first!) ?? []) if (isAt(term, all, at)) return at;
  return Number.POSITIVE_INFINITY;
}

function isAt({ words, isPrefix }: Term, all: readonly Word[], at: number): boolean {
  const last = words.length - 1;
  return words.every((word, n) => {
    const there = all[at + n]?.word;
    return n === last && isPrefix ? there?.startsWith(word) : there === word;
  });
}

/**
 * Looks for no places behind the excerpt: each term may have as many as the text has words.
 * @param first the first word of the first of all places
 */
function excerptOf(text: string, words: readonly Word[], terms: readonly Term[], first: number): Match {
  const begin = excerptStart(text, words[first]!.start);
  const end = excerptEnd(text, begin);
  const marks: [number, number][] = [];
  for (let at = first; at < words.length && words[at]!.start < end; at += 1)
    for (const term of terms) {
      if (!isAt(term, words, at)) continue;
      const start = words[at]!.start - begin;
      const stop = Math.min(words[at + term.words.length - 1]!.end, end) - begin;
      const last = marks.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], stop);
      else marks.push([start, stop]);
    }
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
