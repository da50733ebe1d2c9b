/**
 * A reader of HTML that accepts one plain way of writing it and reports everything else. What it accepts, every
 * browser reads in the same way, so it finds what a forgiving parser would repair in silence.
 */

const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  a: ['href', 'title'],
  img: ['src', 'alt', 'title'],
  ol: ['start'],
  th: ['align'],
  td: ['align'],
};
const BLOCKS = 'h1 h2 h3 h4 h5 h6 p blockquote pre code hr br ul ol li table thead tbody tr th td'.split(' ');
const TAGS = new Set([...BLOCKS, 'em', 'strong', 'del', 'a', 'img']);
const VOID = new Set(['hr', 'br', 'img']);
const SCHEMES: Readonly<Record<string, RegExp>> = {
  href: /^(?:https?:\/\/|mailto:)[^\s]*$/i,
  src: /^https?:\/\/[^\s]*$/i,
};
const CHARACTERS: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** Everything in the HTML that a rendered note must not hold; empty when it is clean. */
export function violations(html: string): string[] {
  const found: string[] = [];
  const open: string[] = [];
  let rest = html;
  while (rest !== '') {
    const text = /^[^<>]+/.exec(rest)?.[0];
    if (text !== undefined) {
      found.push(...textViolations(text));
      rest = rest.slice(text.length);
      continue;
    }
    const tag = /^<(\/?)([a-z0-9]+)((?: [a-z]+="[^"<>]*")*)(?: \/)?>/.exec(rest);
    if (tag === null) return [...found, `not a plain tag: ${rest.slice(0, 80)}`];
    const [all, slash, name = '', attributes = ''] = tag;
    if (!TAGS.has(name)) found.push(`tag ${name}`);
    found.push(...attributeViolations(name, attributes));
    if (slash === '/') {
      if (open.pop() !== name) found.push(`${all} closes another element`);
    } else if (!VOID.has(name)) open.push(name);
    rest = rest.slice(all.length);
  }
  if (open.length > 0) found.push(`left open: ${open.join(' ')}`);
  return found;
}

function attributeViolations(tag: string, attributes: string): string[] {
  return [...attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)].flatMap(([, name = '', value = '']) => {
    const wrong = textViolations(value);
    if (!ATTRIBUTES[tag]?.includes(name)) wrong.push(`attribute ${name} of ${tag}`);
    const scheme = SCHEMES[name];
    if (scheme !== undefined && !scheme.test(plainText(value))) wrong.push(`address ${value}`);
    return wrong;
  });
}

function textViolations(text: string): string[] {
  const wrong: string[] = [];
  if (/&(?!(?:amp|lt|gt|quot|#39);)/.test(text)) wrong.push(`a bare & in ${text.slice(0, 80)}`);
  if (/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(text)) wrong.push('a character that XML forbids');
  if (!text.isWellFormed()) wrong.push('a lone surrogate');
  return wrong;
}

/** The text that an HTML text or attribute value stands for. */
export function plainText(html: string): string {
  return html.replace(/<[^>]*>/g, '').replace(/&[^;]+;/g, (reference) => CHARACTERS[reference] ?? reference);
}
