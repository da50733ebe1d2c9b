/** Escapes text for XML and HTML, and writes the XML of a feed. */

type Attributes = Readonly<Record<string, string>>;

const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

// XML 1.0 §2.2 "Char". With the u flag a pair of surrogates is one character, so only lone ones match.
const LONE_SURROGATES = /[\ud800-\udfff]/gu;
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

/** The text without the characters that XML 1.0 forbids, lone surrogates included. */
export function withoutForbidden(text: string): string {
  // Removing lone surrogates is slow, and few texts have one.
  return (text.isWellFormed() ? text : text.replace(LONE_SURROGATES, '')).replace(FORBIDDEN, '');
}

/** HTML of a text, for content and quoted attributes. Characters that XML forbids are removed. */
export function escapeHtml(text: string): string {
  return withoutForbidden(text).replace(/[&<>"']/g, (character) => REFERENCES[character]!);
}

/** Escapes only what could begin a tag or a reference. */
export function escapeMarkup(text: string): string {
  return /[&<>]/.test(text) ? text.replace(/[&<>]/g, (character) => REFERENCES[character]!) : text;
}

/** Character data, without forbidden characters. */
export function escapeText(text: string): string {
  // Parsers read a plain carriage return as a line feed (XML 1.0 §2.11).
  return escapeMarkup(withoutForbidden(text)).replaceAll('\r', '&#13;');
}

/** The value of an attribute in double quotes, without forbidden characters. */
export function escapeAttribute(text: string): string {
  // Parsers read a plain tab or line feed as a space (XML 1.0 §3.3.3).
  return escapeText(text).replaceAll('"', '&quot;').replaceAll('\t', '&#9;').replaceAll('\n', '&#10;');
}

export function element(name: string, text: string, attributes?: Attributes): string {
  return tagged(name, escapeText(text), attributes);
}

/** An element of elements, one per line. Undefined ones are left out. */
export function group(
  name: string,
  children: readonly (string | undefined)[],
  attributes?: Attributes,
): string {
  const lines = children.filter((child) => child !== undefined);
  return tagged(name, `\n${lines.join('\n')}\n`, attributes);
}

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
