import { Refusal } from '../refusals.ts';
import { shownOneLine } from './text.ts';

const MAX_TAGS = 10;
/** Longest tag, in characters (code points). */
const TAG_LENGTH = 32;
/** Longer than any tag before it is folded, in UTF-16 units. Folding many marks takes time that grows with their square. */
const MAX_UNFOLDED = 16 * TAG_LENGTH;
const NOT_IN_TAGS = /[^\p{L}\p{M}\p{Nd}\-_.:]/u;
const EVERY_NOT_IN_TAGS = new RegExp(`${NOT_IN_TAGS.source}+`, 'gu');
const CHARACTERS = 'letters, digits, "-", "_", "." and ":"';
/** The rule for people. */
export const TAGS_RULE = `at most ${MAX_TAGS}, each 1 to ${TAG_LENGTH} characters: ${CHARACTERS}`;
/** How much of a wrong tag a refusal repeats, in UTF-16 units. */
const SHOWN_LENGTH = 40;

/** The tags of a text that separates them by commas. Throws as `validTags`. */
export function parseTags(text: string): string[] {
  return validTags(text.split(','));
}

/**
 * The tags of a list (contract §3), at most 10; repeats and blank entries are dropped.
 * @throws Refusal `invalid_request` naming the tag that is wrong
 */
export function validTags(list: readonly string[]): string[] {
  const entries = new Set(list.map((entry) => entry.trim()).filter((entry) => entry !== ''));
  const tags = new Set<string>();
  for (const entry of entries) {
    tags.add(validTag(entry));
    if (tags.size > MAX_TAGS) throw invalid(`A note has at most ${MAX_TAGS} tags.`);
  }
  return [...tags];
}

/**
 * A tag as it is stored: 1 to 32 letters, marks and digits of any script, `-`, `_`, `.` and `:`, in lower case and NFC.
 * @throws Refusal `invalid_request`
 */
export function validTag(text: string): string {
  // A text that had to be cut here is still too long, so it is refused below.
  const start = text.slice(0, MAX_UNFOLDED);
  const tag = folded(start);
  if (isTag(tag)) return tag;
  const shown = `The tag "${shownOneLine(start).slice(0, SHOWN_LENGTH).toWellFormed()}"`;
  const [wrong] = NOT_IN_TAGS.exec(tag) ?? [];
  if (wrong === undefined) throw invalid(`${shown} is longer than ${TAG_LENGTH} characters.`);
  throw invalid(`${shown} has ${nameOf(wrong)} in it. Tags are made of ${CHARACTERS} only.`);
}

/** A tag made of any text: what is no character of a tag becomes `-`. May be empty. */
export function tagFrom(text: string): string {
  const tag = folded(text.slice(0, 2 * TAG_LENGTH).trim());
  return [...tag.replace(EVERY_NOT_IN_TAGS, '-')].slice(0, TAG_LENGTH).join('');
}

/** A tag that somebody wrote by hand, in the form that queries use: lower case and NFC. A tag that is too long stays as it is. */
export function tagByHand(text: string): string {
  return text.length > MAX_UNFOLDED ? text : folded(text);
}

/** What tags begin with, as they are stored; undefined if none can begin so. */
export function tagStart(text: string): string | undefined {
  if (text.length > MAX_UNFOLDED) return undefined;
  const start = folded(text);
  return start === '' || isTag(start) ? start : undefined;
}

function isTag(tag: string): boolean {
  return tag !== '' && !NOT_IN_TAGS.test(tag) && [...tag].length <= TAG_LENGTH;
}

function folded(text: string): string {
  // Lowered first, because it may leave a letter and a mark that have a common character.
  return text.toLowerCase().normalize('NFC');
}

/** A character for people, who do not see every one. */
function nameOf(character: string): string {
  if (/\s/.test(character)) return 'a space';
  if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(character)) return `"${character}"`;
  return `the invisible character U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

function invalid(message: string): Refusal {
  return new Refusal('invalid_request', message);
}
