/** Bodies up to this size need no look before they are parsed, bytes. */
const SMALL = 64 * 1024;
/** Marks that begin a value. */
const MARKS = ['[', '{', ','].map((mark) => mark.charCodeAt(0));
/** A text of 100 KB may be nothing but such marks. */
const MAX_MARKS = 150_000;

/**
 * The JSON value of a body that may be large because there are long texts in it, as pictures in base64 are; undefined for
 * what is not JSON in UTF-8. A megabyte of brackets would become a hundred of objects, so a body with many values is
 * taken for something else.
 */
export function parseMessage(body: Uint8Array): unknown {
  if (body.length > SMALL && hasManyMarks(body)) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function hasManyMarks(body: Uint8Array): boolean {
  let left = MAX_MARKS;
  for (const mark of MARKS)
    for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + 1)) if (--left < 0) return true;
  return false;
}
