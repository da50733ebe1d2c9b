// What names of pictures must not contain (docs/specification.md, "Multipart parts"), and what a form would encode.
const FORBIDDEN = /[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069/\\"]/g;
const LONGEST = 150;

/** A valid name for a picture in a form, different from `used`; `extension` replaces its own. */
export function sendableName(name: string, used: readonly string[], extension?: string): string {
  const clean = name
    .toWellFormed()
    .replace(FORBIDDEN, '_')
    .replace(/%(?=22|0A|0D)/g, '_')
    .trim()
    .replace(/^\.+$/, '');
  const dot = clean.lastIndexOf('.');
  const stem = (dot > 0 ? clean.slice(0, dot) : clean).slice(0, LONGEST).toWellFormed().trim() || 'picture';
  const ending = extension ?? (dot > 0 ? clean.slice(dot + 1).slice(0, 10) : '');
  for (let number = 1; ; number += 1) {
    const numbered = `${stem}${number > 1 ? `-${number}` : ''}${ending && `.${ending}`}`;
    if (!used.includes(numbered)) return numbered;
  }
}

/** The markdown that shows a picture. */
export function pictureReference(name: string, alt: string): string {
  const destination = /^[\p{L}\p{N}._-]+$/u.test(name)
    ? name
    : encodeURIComponent(name).replace(/[()]/g, escape);
  return `![${alt.replace(/[\\[\]]/g, '\\$&')}](${destination})`;
}
