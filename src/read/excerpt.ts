import { cutAtWord } from '../feeds/text.ts';
import { withoutForbidden } from './xml.ts';

/** Longest excerpt of a note, in characters. */
const LENGTH = 500;

/** The beginning of a text on one line, at most 500 characters. */
export function excerpt(text: string): string {
  const beginning = withoutForbidden(text.slice(0, 3 * LENGTH));
  return cutAtWord(beginning.replace(/\s{2,}|[^\S ]/g, ' ').trim(), LENGTH);
}
