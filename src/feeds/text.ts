import { Refusal, type RefusalCode } from '../refusals.ts';
import type { NoteType } from './note-types.ts';

/** Forbidden in one-line texts: C0 and C1 controls and DEL, line separators, text-direction overrides. */
export const FORBIDDEN = /[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const EVERY_FORBIDDEN = new RegExp(FORBIDDEN, 'g');

/** Longest alternative text of a picture, in characters. */
export const ALT_LENGTH = 500;
const NOT_IN_PICTURE_NAMES = new RegExp(`[/\\\\]|${FORBIDDEN.source}`, 'g');
const PICTURE_NAME_LENGTH = 200;

/** Longest title of a feed or note, in characters. */
export const TITLE_LENGTH = 100;

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * One-line text as a client may set it (contract §3): trimmed, at most `max` characters (code points), without
 * controls, line breaks and text-direction overrides. May be empty.
 *
 * `field` names the text in the refusal, for example `X-Note-Title` or `title`. Throws `code`.
 */
export function oneLine(
  field: string,
  text: string,
  max: number,
  code: RefusalCode = 'invalid_request',
): string {
  if (FORBIDDEN.test(text)) {
    throw new Refusal(
      code,
      `${field} must be one line without control characters and text-direction overrides.`,
      { field },
    );
  }
  // Well-formed, because a lone surrogate (JSON allows it) would be stored as another character than the answer shows.
  const trimmed = text.trim().toWellFormed();
  if (isLongerThan(trimmed, max)) {
    throw new Refusal(code, `${field} must be at most ${max} characters long.`, { field });
  }
  return trimmed;
}

/** @throws Refusal `invalid_request` for an alternative text of a markdown note */
export function refuseAlt(type: NoteType, alt: string | undefined): void {
  if (type === 'md' && alt !== undefined) throw new Refusal('invalid_request', 'Only a picture has an alt.');
}

/** One-line text of an older or hand-edited file: what `oneLine` refuses becomes a space. */
export function shownOneLine(text: string): string {
  return text.replace(EVERY_FORBIDDEN, ' ');
}

/**
 * The original name of a picture (contract §4), made of any text: without `/`, backslash and what no one-line text
 * holds, trimmed, and cut at 200 characters (code points). May be empty.
 */
export function pictureName(text: string): string {
  const name = text.replace(NOT_IN_PICTURE_NAMES, '').trim();
  return cutAt(name, PICTURE_NAME_LENGTH).trimEnd();
}

/**
 * The first `max` characters (code points) of a text, or fewer so that no grapheme cluster (an emoji with its
 * modifiers, a letter with its accents) is cut in two, unless the first alone is longer.
 */
export function cutAt(text: string, max: number): string {
  if (!isLongerThan(text, max)) return text;
  const end = endOf(text, max);
  // Finding clusters takes 0.1 ms, and two ASCII letters never form one.
  if (/^[ -~]{2}/.test(text.slice(end - 1, end + 1))) return text.slice(0, end);
  return text.slice(0, GRAPHEMES.segment(text).containing(end)!.index || end);
}

/** The text, or if it is longer than `max` characters, its beginning up to a word's end with `…`: `max` with it. */
export function cutAtWord(text: string, max: number): string {
  if (!isLongerThan(text, max)) return text;
  const cut = cutAt(text, max - 1);
  const words = /\s/.test(text.charAt(cut.length)) ? cut : cut.replace(/\s\S*$/, '');
  return `${words.trimEnd()}…`;
}

/** A text as a title on one line; beyond 100 characters it ends with the last whole word and `…`. */
export function cutTitle(text: string): string {
  return cutAtWord(shownOneLine(text).trim(), TITLE_LENGTH);
}

/** Whether a text has more than `max` characters (code points). */
function isLongerThan(text: string, max: number): boolean {
  if (text.length > 2 * max) return true;
  return text.length > max && endOf(text, max) < text.length;
}

/** Where the first `max` characters end. */
function endOf(text: string, max: number): number {
  let end = 0;
  for (let left = max; left > 0 && end < text.length; left -= 1)
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return end;
}
