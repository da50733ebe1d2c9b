import { Marked, type Tokens } from 'marked';
import sanitizeHtml from 'sanitize-html';
import { escapedText, escapeHtml } from '../src/read/html.ts';
import { shownText } from '../src/read/text.ts';
import { withoutForbidden } from '../src/read/xml.ts';

/** A note to render. */
export interface MarkdownTask {
  readonly markdown: Uint8Array;
  /** What its relative references are relative to: `<base url>/r/<read_id>/`, with the slash. */
  readonly base: string;
}

/**
 * Characters that empty table cells and links may add beyond what the note itself holds. A row shorter than its table
 * is filled up with cells, each use of a definition repeats its address, and a relative one gets the base before it, so
 * a note of 30 KB could otherwise ask for gigabytes, and a feed of small notes for a document of tens of megabytes.
 */
const MAX_ADDED = 64 * 1024;
/** Characters of an empty table cell with its line end, as written in HTML. */
const CELL = 10;
/** Elements within elements. Readers that parse with libxml2 give up at 256. */
const MAX_DEPTH = 100;

const LINK_SCHEMES = ['http:', 'https:', 'mailto:'];
const PICTURE_SCHEMES = ['http:', 'https:'];

/**
 * The note as HTML: GitHub's markdown, raw HTML shown as text, only harmless elements, absolute addresses, no
 * character that XML forbids. A note that cannot be rendered (nested too deep, grown too large) is its text in
 * a `<pre>`. Takes seconds to minutes on hostile input: run it with a time limit.
 */
export default function renderMarkdown({ markdown, base }: MarkdownTask): string {
  try {
    // Removed before as well: a forbidden character inside a word must not disguise it.
    const spend = budget();
    const html = parser(spend).parse(withoutForbidden(shownText(markdown)), { async: false });
    return withoutForbidden(guarded(html, base, spend));
  } catch {
    return escapedText(markdown);
  }
}

/** Counts characters that are added to a note. */
type Spend = (characters: number) => void;

function budget(): Spend {
  let added = 0;
  return (characters) => {
    added += characters;
    if (added > MAX_ADDED) throw new RangeError('the rendered note is too large');
  };
}

function parser(spend: Spend): Marked {
  return new Marked({
    gfm: true,
    tokenizer: {
      table(src) {
        const [, , delimiters = '', rows = ''] = this.rules.block.table.exec(src) ?? [];
        spend(missingCells(delimiters, rows) * CELL);
        return false;
      },
    },
    walkTokens: (token) => {
      if (token.type === 'link' || token.type === 'image')
        spend(repeatedLength(token as Tokens.Link | Tokens.Image));
      // marked trusts text between raw tags such as <kbd>; here the tags are text, and so is what they hold.
      if (token.type === 'text' && 'escaped' in token) token.escaped = false;
    },
    renderer: {
      html: ({ text, block }) => (block ? `<p>${escapeHtml(text)}</p>\n` : escapeHtml(text)),
      checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    },
  });
}

/** How much longer the address and title of a link are than the link as written: they stand in a definition. */
function repeatedLength(token: Tokens.Link | Tokens.Image): number {
  return Math.max(0, token.href.length + (token.title?.length ?? 0) - token.raw.length);
}

/** About how many cells a table has that are not written in its rows. */
function missingCells(delimiters: string, rows: string): number {
  const columns = delimiters.match(/-+/g)?.length ?? 0;
  const lines = rows.split('\n').length;
  return Math.max(0, columns * lines - (lines + rows.split('|').length));
}

/** The second line of defence: whatever the parser made, only this leaves. */
function guarded(html: string, base: string, spend: Spend): string {
  let depth = 0;
  const addressed =
    (attribute: string, schemes: readonly string[]) =>
    (tagName: string, { [attribute]: reference = '', ...others }: sanitizeHtml.Attributes) => {
      const address = absolute(reference, base, schemes);
      if (address === undefined) return { tagName, attribs: others };
      spend(Math.max(0, address.length - reference.length));
      return { tagName, attribs: { ...others, [attribute]: address } };
    };
  return sanitizeHtml(html, {
    allowedTags: [
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'blockquote', 'pre', 'code', 'hr', 'br'],
      ...['ul', 'ol', 'li', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
      ...['em', 'strong', 'del', 'a', 'img'],
    ],
    allowedAttributes: {
      a: ['href', 'title'],
      img: ['src', 'alt', 'title'],
      ol: ['start'],
      th: ['align'],
      td: ['align'],
    },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowedSchemesByTag: { img: ['http', 'https'] },
    allowProtocolRelative: false,
    transformTags: {
      a: addressed('href', LINK_SCHEMES),
      img: addressed('src', PICTURE_SCHEMES),
    },
    onOpenTag: () => {
      depth += 1;
      if (depth > MAX_DEPTH) throw new RangeError('the note is nested too deep');
    },
    onCloseTag: () => {
      depth -= 1;
    },
  });
}

/** The reference as an address of one of these schemes, or undefined. What is absolute stays as written. */
function absolute(reference: string, base: string, schemes: readonly string[]): string | undefined {
  const url = URL.parse(reference, base);
  if (url === null || !schemes.includes(url.protocol)) return undefined;
  return /^(?:https?:\/\/|mailto:)/i.test(reference) ? reference : url.href;
}
