/** Texts with the marks of chats as markdown. What is no mark of theirs is text. */
import {
  asParagraphs,
  bareLink,
  blocks,
  codeBlock,
  cutText,
  escaped,
  escapedStart,
  type Line,
  shortened,
} from './markdown.ts';

/** Marks within marks; beyond it they are text. */
const MAX_DEPTH = 3;

/** An address between the words of a text, as the source of an expression. Marks and punctuation at its end are not part of it. */
export const ADDRESS = '\\b(?<url>https?://[^\\s<>|`]*[^\\s<>|`.,;:!?)*_~])';

/** The named groups of a match, of which one is there. */
export type Groups = Readonly<Record<string, string | undefined>>;

/** What a mark becomes; `inner` translates the text in it. */
type WriteMark = (groups: Groups, inner: (text: string) => string) => string;

/**
 * A text of several lines as markdown, cut with `…` beyond 20,000 characters. A block of code that does not end is text.
 * @param decode the text of a block of code
 */
export function chatText(
  text: string,
  read: (line: string) => Line,
  decode: (text: string) => string = String,
): string {
  // Blocks of code have odd places.
  const parts = cutText(text).split(/```(?:[a-z0-9+#-]{1,20}\n)?([\s\S]*?)```/i);
  return blocks(
    ...parts.map((part, at) =>
      at % 2 === 1 ? codeBlock(decode(part.replace(/^\n|\n$/g, ''))) : asParagraphs(part, read),
    ),
  );
}

/**
 * A line of a chat as markdown.
 * @param marks a global expression with named groups
 * @param decode the text of a part without marks
 */
export function chatLine(
  line: string,
  marks: RegExp,
  write: WriteMark,
  decode: (text: string) => string = String,
): string {
  const translate = (text: string, depth: number): string => {
    if (depth > MAX_DEPTH) return escaped(decode(text));
    const parts: string[] = [];
    let from = 0;
    for (const match of text.matchAll(marks)) {
      parts.push(escaped(decode(text.slice(from, match.index))));
      parts.push(write(match.groups!, (inner) => translate(inner, depth + 1)));
      from = match.index + match[0].length;
    }
    return joinParts([...parts, escaped(decode(text.slice(from)))]);
  };
  return escapedStart(translate(line, 0).trim());
}

/** Parts of a line together. The mark of an exclamation before a link would make a picture of it. */
export function joinParts(parts: readonly string[]): string {
  let markdown = '';
  for (const part of parts) {
    const isPicture = part.startsWith('[') && markdown.endsWith('!');
    markdown = isPicture ? `${markdown.slice(0, -1)}\\!${part}` : markdown + part;
  }
  return markdown;
}

/** A text in emphasis; spaces at its ends would leave the marks visible. */
export function emphasized(mark: '*' | '**' | '~~', markdown: string): string {
  const text = markdown.trim();
  return text === '' ? '' : mark + text + mark;
}

/** A part of a line as code; as text if it has backticks. */
export function inlineCode(code: string): string {
  const line = shortened(code, 500);
  return line === '' || line.includes('`') ? escaped(line) : `\`${line}\``;
}

/** An address that is its own text. */
export function addressOf(address: string): string {
  return bareLink(address) || escaped(shortened(address));
}
