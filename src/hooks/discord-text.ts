import { ADDRESS, addressOf, chatLine, chatText, emphasized, type Groups, inlineCode } from './chat-text.ts';
import { timeText } from './hook.ts';
import { escaped, type Line, linked } from './markdown.ts';

/** https://support.discord.com/hc/en-us/articles/210298617 */
const MARKS = new RegExp(
  [
    '\\\\(?<literal>[\\\\`*_~|<>\\[\\]()#.+-])',
    '`(?<code>[^`]+)`',
    '\\[(?<label>[^\\[\\]]+)\\]\\((?<target><[^<>\\s]+>|[^\\s()<>]+)(?:\\s+"[^"]*")?\\)',
    '<(?<sign>@[!&]?|#)(?<id>\\d{1,20})>',
    '<a?(?<emoji>:\\w{1,40}:)\\d{1,20}>',
    '<t:(?<time>-?\\d{1,11})(?::[a-zA-Z])?>',
    '<(?<address>https?://[^\\s<>]+)>',
    '\\*\\*(?<bold>[^\\s*](?:[^*]*[^\\s*])?)\\*\\*',
    '__(?<underlined>[^\\s_](?:[^_]*[^\\s_])?)__',
    '\\*(?<italic>[^\\s*](?:[^*]*[^\\s*])?)\\*',
    '(?<![\\p{L}\\p{N}_])_(?<slanted>[^\\s_](?:[^_]*[^\\s_])?)_(?![\\p{L}\\p{N}_])',
    '~~(?<strike>[^\\s~](?:[^~]*[^\\s~])?)~~',
    '\\|\\|(?<spoiler>[^|]+)\\|\\|',
    ADDRESS,
  ].join('|'),
  'gu',
);

/** A text in Discord's markdown as our markdown. */
export function discordText(text: string): string {
  return chatText(text, readLine);
}

/** Headings become bold lines: a note has its own. */
function readLine(line: string): Line {
  const [, mark = '', text = ''] = /^(>>> |> |[-*] (?=\S)|#{1,3} |-# )?(.*)$/su.exec(line)!;
  const markdown = chatLine(text, MARKS, write);
  if (mark.startsWith('>')) return { kind: 'quote', markdown };
  if (mark === '- ' || mark === '* ') return { kind: 'item', markdown };
  const isHeading = mark.startsWith('#') && !markdown.includes('**');
  return { kind: 'text', markdown: isHeading ? emphasized('**', markdown) : markdown };
}

function write(groups: Groups, inner: (text: string) => string): string {
  const { literal, code, label, target, sign, id, emoji, time, strike } = groups;
  if (literal !== undefined) return /[^\w\s]/.test(literal) ? `\\${literal}` : literal;
  if (code !== undefined) return inlineCode(code);
  if (label !== undefined) return linked(escaped(label), target!.replace(/^<|>$/g, ''));
  if (sign !== undefined) return escaped(sign.charAt(0) + id);
  if (emoji !== undefined) return escaped(emoji);
  if (time !== undefined) return timeOf(Number(time));
  const bold = groups.bold ?? groups.underlined;
  if (bold !== undefined) return emphasized('**', inner(bold));
  const italic = groups.italic ?? groups.slanted;
  if (italic !== undefined) return emphasized('*', inner(italic));
  if (strike !== undefined) return emphasized('~~', inner(strike));
  if (groups.spoiler !== undefined) return inner(groups.spoiler);
  return addressOf(groups.address ?? groups.url ?? '');
}

/**
 * A date and time as people read it.
 * @param seconds since the epoch, with at most 11 digits: every such time is a date
 */
function timeOf(seconds: number): string {
  return timeText(new Date(seconds * 1000).toISOString());
}
