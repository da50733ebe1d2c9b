/** A word of a text, as it is searched for. */
export interface Word {
  /** Folded: what differs only in case, accents or width is the same word. Letters, digits and their marks, or a pictograph. */
  readonly word: string;
  /** Its place in the text, in UTF-16 units; `end` is behind it. */
  readonly start: number;
  readonly end: number;
}

/** Words are compared by this many first units: longer runs are data, not words. */
const MAX_WORD = 64;
/** Only these first units of a run are folded, because the time of `normalize` grows with the square of a row of accents. */
const MAX_FOLDED = 4 * MAX_WORD;
const LETTERS = String.raw`\p{L}\p{N}`;
/** Marks, and what is invisible in words. */
const MARKS = String.raw`\p{M}\xad\u200c\u200d\u2060`;
/** Scripts that put no space between words: each character with its marks is a word, so that any part is found as a phrase. */
const UNSPACED = String.raw`\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
/** The voice marks of half-width kana are letters. */
const UNSPACED_MARKS = String.raw`${MARKS}\uff9e\uff9f`;
const WORD = new RegExp(
  [
    `[[${LETTERS}]--[${UNSPACED}]][[${LETTERS}${MARKS}]--[${UNSPACED}]]*`,
    `[[${LETTERS}]&&[${UNSPACED}]][${UNSPACED_MARKS}]*`,
    String.raw`\p{Extended_Pictographic}|\p{Regional_Indicator}{2}`,
  ].join('|'),
  'gv',
);
const BEGINS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'v');
/** A run that folding would only make lower case: ASCII, and most of Thai, Japanese and Chinese. Folding takes ten times as long. */
const SIMPLE = /^[\0-\x7f\u0e01-\u0e33\u3041-\u3096\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff]*$/;
/**
 * Characters that folding drops, because a word is the same without them: accents of Latin, Greek and Cyrillic, vowel signs of
 * Hebrew and Arabic, the Arabic stroke that widens words, signs that choose how a character is drawn, and what is in no word,
 * such as the stroke of ½. The marks of other scripts make another word, and stay.
 */
const DROPPED =
  /[\u0300-\u036f]|[\u0591-\u05c7]|[\u064b-\u065f]|[\u20d0-\u20ff]|[\ufe00-\ufe0f]|\u0640|\u0670|[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}\p{Regional_Indicator}]/gu;

/** The words of a text, in order; the time grows with its length. */
export function* wordsOf(text: string): Generator<Word> {
  for (const { 0: run, index: start } of text.matchAll(WORD)) {
    const word = firstUnits(folded(firstUnits(run, MAX_FOLDED)), MAX_WORD);
    if (word !== '') yield { word, start, end: start + run.length };
  }
}

/** Whether a word is one character of a script without spaces, which never begins a longer word. */
export function isUnspaced(word: string): boolean {
  return BEGINS_UNSPACED.test(word);
}

/** The first units of a text, or one fewer, so that no character is cut in two. */
function firstUnits(text: string, units: number): string {
  return text.slice(0, isLowSurrogate(text, units) ? units - 1 : units);
}

/** Whether a place in a text is within a character. */
export function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/**
 * Folds a run: to lower, upper and lower case again, because some letters have no single counterpart (Unicode, "Caseless
 * Matching"). ß and ẞ become ss, a final sigma a sigma.
 */
function folded(run: string): string {
  if (SIMPLE.test(run)) return run.toLowerCase();
  const letters = run.normalize('NFKD').replace(DROPPED, '').normalize('NFC');
  return letters.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}
