import type { MarkdownEvent } from './markdown-events.ts';

const CONTAINERS: ReadonlySet<string> = new Set(['blockQuote', 'listOrdered', 'listUnordered']);

/** HTML blocks that no blank line ends (CommonMark 4.6, kinds 1 to 5): how they start and what ends them. */
const HTML_BLOCKS: readonly { readonly start: RegExp; readonly end: RegExp; readonly closing: string }[] = [
  ...['script', 'pre', 'style', 'textarea'].map((name) => ({
    start: new RegExp(String.raw`^<${name}(?:[\s>]|$)`, 'i'),
    end: /<\/(?:script|pre|style|textarea)>/i,
    closing: `</${name}>`,
  })),
  { start: /^<!--/, end: /-->/, closing: '-->' },
  { start: /^<\?/, end: /\?>/, closing: '?>' },
  { start: /^<!\[CDATA\[/, end: /\]\]>/, closing: ']]>' },
  { start: /^<![a-z]/i, end: />/, closing: '>' },
];

/**
 * The line that closes the code fence or HTML block in which a text ends and which would swallow whatever follows, a
 * blank line too; undefined when there is none. A quote or a list takes what is open in it along when it ends.
 */
export function closingLine(events: readonly MarkdownEvent[]): string | undefined {
  let containers = 0;
  let fences: string[] = [];
  let closing: string | undefined;
  for (const [kind, token, context] of events) {
    const source = () => context.sliceSerialize(token);
    if (CONTAINERS.has(token.type)) containers += kind === 'enter' ? 1 : -1;
    else if (containers > 0) continue;
    else if (kind === 'enter') {
      if (token.type === 'codeFenced') fences = [];
    } else if (token.type === 'codeFencedFenceSequence') fences.push(source());
    else if (token.type === 'codeFenced') closing = fences.length === 1 ? fences[0] : undefined;
    else if (token.type === 'htmlFlow') closing = htmlClosing(source().trimStart());
  }
  return closing;
}

/** What closes an HTML block; undefined when a blank line does, or when it is closed. */
function htmlClosing(source: string): string | undefined {
  const block = HTML_BLOCKS.find(({ start }) => start.test(source));
  return block?.end.test(source) ? undefined : block?.closing;
}
