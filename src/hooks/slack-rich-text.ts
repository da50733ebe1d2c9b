import { addressOf, emphasized, inlineCode, joinParts } from './chat-text.ts';
import {
  asText,
  blocks,
  codeBlock,
  cutText,
  escaped,
  escapedStart,
  linked,
  shortened,
  shownLine,
} from './markdown.ts';
import type { Members } from './members.ts';

/** Most parts of a block that are shown. */
const MAX_PARTS = 100;

/** A block of formatted text (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block). */
export function slackRichText(block: Members): string {
  return blocks(...partsOf(block).map(partOf));
}

function partsOf(holder: Members): readonly Members[] {
  return holder.list('elements').slice(0, MAX_PARTS);
}

function partOf(part: Members): string {
  switch (part.text('type')) {
    case 'rich_text_list':
      return listOf(part);
    case 'rich_text_quote':
      return linesOf(part)
        .map((line) => `> ${line}`)
        .join('  \n');
    case 'rich_text_preformatted':
      return codeBlock(
        partsOf(part)
          .map((element) => element.text('text') || element.text('url'))
          .join(''),
      );
    default:
      return linesOf(part).join('  \n');
  }
}

function listOf(part: Members): string {
  const isOrdered = part.text('style') === 'ordered';
  const items = partsOf(part).map((item) => linesOf(item).join(' '));
  return items.map((item, at) => `${isOrdered ? `${at + 1}.` : '-'} ${item}`).join('\n');
}

/** Lines that are not empty. */
function linesOf(section: Members): string[] {
  return joinParts(partsOf(section).map(elementOf))
    .split('\n')
    .map((line) => escapedStart(line.trim()))
    .filter((line) => line !== '');
}

/** Who and what is named by an id: its sign, and the member that has the id. */
const NAMED: ReadonlyMap<string, readonly [sign: string, member: string]> = new Map([
  ['user', ['@', 'user_id']],
  ['usergroup', ['@', 'usergroup_id']],
  ['broadcast', ['@', 'range']],
  ['channel', ['#', 'channel_id']],
]);

function elementOf(element: Members): string {
  const type = element.text('type');
  const [sign, member] = NAMED.get(type) ?? [];
  if (sign !== undefined && member !== undefined) return escaped(shortened(sign + element.text(member)));
  switch (type) {
    case 'text':
      return textOf(element);
    case 'link': {
      const text = element.text('text');
      return text === '' ? addressOf(element.text('url')) : linked(asText(text), element.text('url'));
    }
    case 'emoji':
      return escaped(`:${shortened(element.text('name'), 50)}:`);
    case 'date':
      return asText(element.text('fallback'));
    default:
      return '';
  }
}

function textOf(element: Members): string {
  const style = element.object('style');
  return cutText(element.text('text'))
    .split(/\r\n|[\n\r]/)
    .map((line) => {
      // No expression, because one that finds the end of the text tries each space before it.
      const shown = shownLine(line);
      const text = shown.trim();
      if (text === '') return shown;
      const before = shown.slice(0, shown.length - shown.trimStart().length);
      const after = shown.slice(shown.trimEnd().length);
      let markdown = style.is('code') ? inlineCode(text) : escaped(text);
      if (style.is('strike')) markdown = emphasized('~~', markdown);
      if (style.is('italic')) markdown = emphasized('*', markdown);
      if (style.is('bold')) markdown = emphasized('**', markdown);
      return before + markdown + after;
    })
    .join('\n');
}
