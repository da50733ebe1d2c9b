/**
 * A reader of HTML that accepts one plain way of writing it and reports everything else. What it accepts, every
 * browser reads in the same way, so it finds what a forgiving parser would repair in silence.
 */

/** What a rendered note may hold. */
export interface Allowed {
  /** By the name of the element. */
  readonly attributes: Readonly<Record<string, readonly string[]>>;
  /** By the name of the attribute. */
  readonly values: Readonly<Record<string, RegExp>>;
  readonly tags: ReadonlySet<string>;
}

const VOID = new Set(['hr', 'br', 'img']);
const BLOCKS = 'h1 h2 h3 h4 h5 h6 p blockquote pre code hr br ul ol li table thead tbody tr th td'.split(' ');

/** In a feed. */
export const FEED: Allowed = {
  attributes: {
    a: ['href', 'title'],
    img: ['src', 'alt', 'title'],
    ol: ['start'],
    th: ['align'],
    td: ['align'],
    code: ['class'],
  },
  values: {
    href: /^(?:https?:\/\/|mailto:)[^\s]*$/i,
    src: /^https?:\/\/[^\s]*$/i,
    class: /^language-[a-z0-9+#-]{1,20}$/,
    align: /^(?:left|center|right)$/,
    start: /^\d{1,9}$/,
  },
  tags: new Set([...BLOCKS, 'em', 'strong', 'del', 'sup', 'a', 'img']),
};

const CELL = ['class', 'dir'];
const BLOCK = Object.fromEntries(BLOCKS.map((name) => [name, ['dir']]));
/** In a page, with the footnotes of a note whose id is `the-note`. */
export const PAGE: Allowed = {
  attributes: {
    ...BLOCK,
    a: ['href', 'title', 'rel', 'class', 'id', 'role', 'aria-label'],
    img: ['src', 'alt', 'title', 'width', 'height', 'loading', 'decoding', 'referrerpolicy'],
    ol: ['start', 'dir'],
    li: ['class', 'dir', 'id'],
    th: CELL,
    td: CELL,
    code: ['class'],
    pre: ['tabindex'],
    div: ['class', 'role', 'aria-label', 'tabindex', 'dir'],
    section: ['class', 'role', 'aria-label'],
  },
  values: {
    href: /^(?:(?:https?:\/\/|mailto:)[^\s]*|#(?:fn|ref)-the-note-\d+(?:-\d+)?)$/i,
    src: FEED.values.src!,
    class: /^(?:language-[a-z0-9+#-]{1,20}|left|center|right|picture|task|wide|footnotes)$/,
    start: FEED.values.start!,
    dir: /^(?:ltr|rtl)$/,
    id: /^(?:fn-the-note-\d+|ref-the-note-\d+-\d+)$/,
    role: /^(?:group|doc-noteref|doc-backlink|doc-endnotes)$/,
    rel: /^noreferrer noopener nofollow$/,
    tabindex: /^0$/,
    'aria-label': /^(?:Table|Footnotes|Back to reference \d+(?:-\d+)?)$/,
  },
  tags: new Set([...FEED.tags, 'div', 'section']),
};

const CHARACTERS: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** Everything in the HTML that a rendered note must not hold in a feed; empty when it is clean. */
export function violations(html: string): string[] {
  return violationsOf(html, FEED);
}

/** The same in a page, for a note whose id is `the-note`. No id may be in it twice. */
export function pageViolations(html: string): string[] {
  const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  const twice = ids.length === new Set(ids).size ? [] : [`ids are not unique: ${ids.join(' ')}`];
  return [...violationsOf(html, PAGE), ...twice];
}

function violationsOf(html: string, allowed: Allowed): string[] {
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
    const tag = /^<(\/?)([a-z0-9]+)((?: [a-z-]+="[^"<>]*")*)(?: \/)?>/.exec(rest);
    if (tag === null) return [...found, `not a plain tag: ${rest.slice(0, 80)}`];
    const [all, slash, name = '', attributes = ''] = tag;
    if (!allowed.tags.has(name)) found.push(`tag ${name}`);
    found.push(...attributeViolations(name, attributes, allowed));
    if (slash === '/') {
      if (open.pop() !== name) found.push(`${all} closes another element`);
    } else if (!VOID.has(name)) {
      if (name === 'a' && open.includes('a')) found.push('a link in a link');
      open.push(name);
    }
    rest = rest.slice(all.length);
  }
  if (open.length > 0) found.push(`left open: ${open.join(' ')}`);
  return found;
}

function attributeViolations(tag: string, attributes: string, allowed: Allowed): string[] {
  return [...attributes.matchAll(/ ([a-z-]+)="([^"]*)"/g)].flatMap(([, name = '', value = '']) => {
    const wrong = textViolations(value);
    if (!allowed.attributes[tag]?.includes(name)) wrong.push(`attribute ${name} of ${tag}`);
    const pattern = allowed.values[name];
    if (pattern !== undefined && !pattern.test(plainText(value))) wrong.push(`${name} ${value}`);
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
