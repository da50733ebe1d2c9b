import { ADDRESS, addressOf, chatLine, chatText, emphasized, type Groups, inlineCode } from './chat-text.ts';
import { escaped, type Line, linked } from './markdown.ts';

/** https://docs.slack.dev/messaging/formatting-message-text */
const MARKS = new RegExp(
  [
    '`(?<code>[^`]+)`',
    '<(?<reference>[^<>]+)>',
    ...[
      ['bold', '\\*'],
      ['italic', '_'],
      ['strike', '~'],
    ].map(
      ([name, mark]) =>
        `(?<![\\p{L}\\p{N}${mark}])${mark}(?<${name}>[^\\s${mark}](?:[^${mark}]*[^\\s${mark}])?)${mark}(?![\\p{L}\\p{N}${mark}])`,
    ),
    ADDRESS,
  ].join('|'),
  'gu',
);
const REFERENCES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };

/** A text in Slack's "mrkdwn" as markdown. */
export function slackText(text: string): string {
  return chatText(text, readLine, decoded);
}

/** A line of such a text. */
export function slackLine(text: string): string {
  return chatLine(text, MARKS, write, decoded);
}

function readLine(line: string): Line {
  const [, mark = '', text = ''] = /^(&gt; ?|> ?|[•◦▪] +)?(.*)$/su.exec(line)!;
  const kind = mark === '' ? 'text' : /^[&>]/.test(mark) ? 'quote' : 'item';
  return { kind, markdown: slackLine(text) };
}

function write(groups: Groups, inner: (text: string) => string): string {
  const { code, reference, bold, italic, strike, url } = groups;
  if (code !== undefined) return inlineCode(decoded(code));
  if (bold !== undefined) return emphasized('**', inner(bold));
  if (italic !== undefined) return emphasized('*', inner(italic));
  if (strike !== undefined) return emphasized('~~', inner(strike));
  if (url !== undefined) return addressOf(decoded(url));
  return referred(decoded(reference ?? ''));
}

/** What stands in angle brackets: an address, a person, a channel or a command, mostly with a label. */
function referred(reference: string): string {
  const bar = reference.indexOf('|');
  const target = bar === -1 ? reference : reference.slice(0, bar);
  const label = bar === -1 ? '' : reference.slice(bar + 1);
  const sign = target.charAt(0);
  if (sign === '@' || sign === '#') return escaped(sign + (label || target.slice(1)).replace(/^[@#]/, ''));
  if (sign === '!') return escaped(label || `@${target.slice(1).replace(/\^.*$/s, '')}`);
  return label.trim() === '' ? addressOf(target) : linked(escaped(label), target);
}

function decoded(text: string): string {
  return text.replace(/&(?:amp|lt|gt);/g, (reference) => REFERENCES[reference]!);
}
