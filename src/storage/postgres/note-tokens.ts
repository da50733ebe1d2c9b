import { type SearchedNote, searchedTexts } from '../../search/match.ts';
import type { Term } from '../../search/query.ts';
import { isUnspaced, wordsOf } from '../../search/words.ts';
import type { NoteSearch } from '../storage.ts';

/** A `tsvector` takes less than 1 MiB of lexemes. */
const MAX_BYTES = 1_000_000;

/**
 * The tokens of a note, each once, with line ends between them: its words, and its tags as `#tag`. Of a script without spaces, each
 * two neighbouring characters are a token, because single characters are in most notes. If they do not fit into a `tsvector`, the
 * last ones are left out.
 */
export function tokensOf(note: SearchedNote): string {
  const tokens = new Set(note.tags.map(tagToken));
  for (const text of searchedTexts(note)) for (const token of tokensOfText(text)) tokens.add(token);
  const joined = [...tokens].join('\n');
  if (Buffer.byteLength(joined) <= MAX_BYTES) return joined;
  const start = Buffer.from(joined).subarray(0, MAX_BYTES);
  return start.subarray(0, start.lastIndexOf('\n')).toString();
}

/** The notes that may match, as the text of a `tsquery` of `tokensOf`: at least those that `findMatch` finds. */
export function tsqueryOf({ query, tag }: Pick<NoteSearch, 'query' | 'tag'>): string {
  const wanted = query.all.flatMap(lexemesOf);
  if (tag !== undefined) wanted.push(lexeme(tagToken(tag)));
  const unwanted = query.none.filter(isOneWord).flatMap(lexemesOf);
  return [...new Set(wanted), ...unwanted.map((one) => `!${one}`)].join(' & ');
}

function* tokensOfText(text: string): Generator<string> {
  let before: string | undefined;
  for (const { word } of wordsOf(text)) {
    const isPart = isUnspaced(word);
    if (before !== undefined) yield isPart ? before + word : before;
    if (!isPart) yield word;
    before = isPart ? word : undefined;
  }
  if (before !== undefined) yield before;
}

function lexemesOf({ words, isPrefix }: Term): string[] {
  const isPart = (word: string | undefined) => word !== undefined && isUnspaced(word);
  return words.flatMap((word, n) => {
    if (!isPart(word)) return [lexeme(word, isPrefix && n === words.length - 1)];
    if (isPart(words[n + 1])) return [lexeme(word + words[n + 1])];
    return isPart(words[n - 1]) ? [] : [lexeme(word, true)];
  });
}

/** Whether the tokens alone tell that a note lacks the term: they do not say where words are, so a phrase must be judged. */
function isOneWord({ words }: Term): boolean {
  return words.length === 1 && !isUnspaced(words[0]!);
}

function lexeme(token: string, isPrefix = false): string {
  return `'${token.replace(/['\\]/g, '$&$&')}'${isPrefix ? ':*' : ''}`;
}

function tagToken(tag: string): string {
  return `#${tag}`;
}
