import type { SearchQuery, Term } from '../../search/query.ts';
import { wordsOf } from '../../search/words.ts';

/** The most words of a query that the index is asked for, which bounds the cost of a query; `findMatch` judges the rest. */
const MAX_WORDS = 16;
/** The most beginnings of one word that the index is asked for, because the engine goes through all words that begin so, again for each. */
const MAX_NESTED = 2;

/** Signs that the engine would end a token at, or not tell from others. */
const NOT_IN_TOKENS = /[^a-z0-9\u0080-\uffff]/g;

/** The tokenizer of the engine: every character belongs to a token but spaces, because all words are made by `wordsOf`. */
export const TOKENIZER = "ascii tokenchars ':#_'";

/** What the engine is given as the text of a note, and how many tokens that is. */
interface TokenText {
  readonly text: string;
  readonly tokens: number;
}

/** The words of a note within its chunk: no token is of two chunks, so a search in one never looks at the notes of another. */
export function tokenText(chunk: number, texts: readonly string[], tags: readonly string[]): TokenText {
  const start = `${chunk.toString(36)}:`;
  const tokens: string[] = [];
  for (const text of texts) {
    for (const { word } of wordsOf(text)) tokens.push(start + inToken(word));
    // No phrase crosses two texts.
    tokens.push(start);
  }
  for (const tag of tags) tokens.push(tagToken(start, tag));
  return { text: tokens.join(' '), tokens: tokens.length };
}

/**
 * The expression of the engine for a query within a chunk: only quoted tokens, so nothing of the query is ever syntax. It may find more notes than
 * the query does.
 */
export function matchExpression(chunk: number, { all, none }: SearchQuery, tag: string | undefined): string {
  const start = `${chunk.toString(36)}:`;
  let left = MAX_WORDS;
  const beginnings: string[] = [];
  const isCheap = ({ words, isPrefix }: Term) => {
    if (!isPrefix) return true;
    const word = words.at(-1)!;
    const nested = beginnings.filter((one) => one.startsWith(word) || word.startsWith(one));
    if (nested.length >= MAX_NESTED) return false;
    beginnings.push(word);
    return true;
  };
  const must = new Set<string>(tag === undefined ? [] : [`"${tagToken(start, tag)}"`]);
  for (const term of all) {
    if (left > 0 && isCheap(term)) must.add(phrase(start, term, left));
    left -= term.words.length;
  }
  const mustNot = new Set<string>();
  for (const term of none) {
    left -= term.words.length;
    if (left >= 0 && isCheap(term)) mustNot.add(phrase(start, term, term.words.length));
  }
  const found = `(${[...must].join(' AND ')})`;
  return mustNot.size === 0 ? found : `${found} NOT (${[...mustNot].join(' OR ')})`;
}

/** The first `most` words of a term. */
function phrase(start: string, { words, isPrefix }: Term, most: number): string {
  const tokens = words.slice(0, most).map((word) => start + inToken(word));
  return `"${tokens.join(' ')}"${isPrefix && words.length <= most ? ' *' : ''}`;
}

function tagToken(start: string, tag: string): string {
  return `${start}#${inToken(tag)}`;
}

/** A folded word as a part of a token. It keeps prefixes: if a word begins with another one, so do their tokens. */
function inToken(word: string): string {
  return word.replace(NOT_IN_TOKENS, (sign) => `_${sign.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
