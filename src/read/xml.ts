/** A writer for the little XML a feed needs. Every text that goes in comes out as the same text, or not at all. */

export type Attributes = Readonly<Record<string, string>>;

// XML 1.0 §2.2 "Char". With the u flag a pair of surrogates is one character, so only lone ones match.
const LONE_SURROGATES = /[\ud800-\udfff]/gu;
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
/** The text without the characters that XML 1.0 forbids, lone surrogates included. */
export function withoutForbidden(text: string): string {
  return wellFormed(text).replace(FORBIDDEN, '');
}

/** Character data: markup escaped (`]]>` included), forbidden characters removed. */
export function escapeText(text: string): string {
  const escaped = withoutForbidden(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  // A carriage return written as such would be read as a line feed (XML 1.0 §2.11).
  return escaped.replaceAll('\r', '&#13;');
}

/** An attribute's value for double quotes: markup escaped, forbidden characters removed. */
export function escapeAttribute(text: string): string {
  // Tab and line feed would be read as spaces (XML 1.0 §3.3.3).
  return escapeText(text).replaceAll('"', '&quot;').replaceAll('\t', '&#9;').replaceAll('\n', '&#10;');
}

/** An element that holds text. */
export function element(name: string, text: string, attributes?: Attributes): string {
  return tagged(name, escapeText(text), attributes);
}

/** An element that holds elements, each on its own line. Holes in the list are left out. */
export function group(
  name: string,
  children: readonly (string | undefined)[],
  attributes?: Attributes,
): string {
  const lines = children.filter((child) => child !== undefined);
  return tagged(name, `\n${lines.join('\n')}\n`, attributes);
}

/** An element that holds nothing. */
export function emptyElement(name: string, attributes: Attributes): string {
  return `<${name}${list(attributes)}/>`;
}

function tagged(name: string, content: string, attributes: Attributes = {}): string {
  return `<${name}${list(attributes)}>${content}</${name}>`;
}

function list(attributes: Attributes): string {
  let text = '';
  for (const [name, value] of Object.entries(attributes)) text += ` ${name}="${escapeAttribute(value)}"`;
  return text;
}

// The look for lone surrogates is slow, and hardly any text holds one.
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.replace(LONE_SURROGATES, '');
}
