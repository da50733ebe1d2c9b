import { Refusal } from '../refusals.ts';
import { shownOneLine } from './text.ts';

const MOST_TAGS = 10;
const TAG = /^[A-Za-z0-9\-_.:]{1,32}$/;
/** How much of a wrong tag a refusal repeats, in UTF-16 units. */
const SHOWN_LENGTH = 40;

/** The tags of an `X-Note-Tags` header, separated by commas. Throws as `tagsOf`. */
export function parseTags(header: string): string[] {
  return tagsOf('X-Note-Tags', header.split(','));
}

/**
 * The tags of a list (contract §3): at most 10, each 1 to 32 of `a-z0-9-_.:`; capitals are lowered, repeats and blank
 * entries dropped.
 *
 * `field` names the list in the refusal, for example `tags` in a JSON body. Throws `invalid_request` naming the tag
 * that is wrong.
 */
export function tagsOf(field: string, list: readonly string[]): string[] {
  const entries = list.map((entry) => entry.trim()).filter((entry) => entry !== '');
  const tags = new Set(entries.map((entry) => parseTag(field, entry)));
  if (tags.size > MOST_TAGS) {
    throw new Refusal('invalid_request', `${field} must not hold more than ${MOST_TAGS} tags.`);
  }
  return [...tags];
}

function parseTag(field: string, tag: string): string {
  // Tested before it is lowered: some letters of other scripts have a lower case in a-z.
  if (!TAG.test(tag)) {
    const shown = shownOneLine(tag).slice(0, SHOWN_LENGTH).toWellFormed();
    throw new Refusal(
      'invalid_request',
      `${field}: the tag "${shown}" must be 1 to 32 of a-z, 0-9, "-", "_", "." and ":".`,
    );
  }
  return tag.toLowerCase();
}
