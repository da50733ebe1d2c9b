import { type HookKind, type HookNote, tagsOf } from './hook.ts';
import { asParagraphs, asText, blocks, inRow, link, linked, shortened, strong } from './markdown.ts';
import { Members } from './members.ts';
import { slackRichText } from './slack-rich-text.ts';
import { slackLine, slackText } from './slack-text.ts';

/** Most blocks, and most attachments, that are shown. */
const MAX_PARTS = 50;
/** Longest text of a small line, in characters. */
const CONTEXT_LENGTH = 2_000;
/** Slack's names of colours, which senders use for outcomes. */
const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ['good', 'success'],
  ['warning', 'warning'],
  ['danger', 'failure'],
]);

/** Incoming webhooks of Slack (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). */
export const slack: HookKind = {
  takesForm: true,
  answer: 'ok',
  notes: (payload) => [slackNote(new Members(payload))],
};

function slackNote(message: Members): HookNote {
  const attachments = message.list('attachments').slice(0, MAX_PARTS);
  const text = message.has('mrkdwn') && !message.is('mrkdwn') ? asParagraphs : slackText;
  // With blocks, Slack shows the text in notifications only.
  const markdown = blocks(
    blocksOf(message) || text(message.text('text')),
    ...attachments.map(attachmentOf).filter((part) => part !== ''),
  );
  if (markdown === '') throw message.refusal('text', 'a text');
  const outcomes = attachments.map((attachment) => OUTCOMES.get(attachment.text('color')) ?? '');
  return { markdown, tags: tagsOf('slack', ...outcomes.slice(0, 1)) };
}

function attachmentOf(attachment: Members): string {
  const title = attachment.text('title');
  const fields = attachment.list('fields').slice(0, MAX_PARTS);
  const shown = blocks(
    slackText(attachment.text('pretext')),
    linked(asText(attachment.text('author_name')), attachment.text('author_link')),
    title === '' ? '' : linked(strong(title), attachment.text('title_link')),
    blocksOf(attachment) || slackText(attachment.text('text')),
    ...fields.map((field) => blocks(strong(field.text('title')), slackText(field.text('value')))),
    pictureOf(attachment, 'Picture'),
    asText(attachment.text('footer')),
  );
  return shown || slackText(attachment.text('fallback'));
}

/** The layout of a message (https://docs.slack.dev/reference/block-kit/blocks). */
function blocksOf(message: Members): string {
  return blocks(...message.list('blocks').slice(0, MAX_PARTS).map(blockOf));
}

function blockOf(block: Members): string {
  switch (block.text('type')) {
    case 'header':
      return strong(block.object('text').text('text'));
    case 'section': {
      const fields = block.list('fields').slice(0, MAX_PARTS);
      const text = textOf(block.object('text'));
      return blocks(text, ...fields.map(textOf), elementOf(block.object('accessory')));
    }
    case 'context':
    case 'actions':
      return inRow(...block.list('elements').slice(0, MAX_PARTS).map(elementOf));
    case 'image':
      return pictureOf(block, block.text('alt_text'));
    case 'video':
      return linked(strong(block.object('title').text('text')), block.text('title_url'));
    case 'markdown':
      return asParagraphs(block.text('text'));
    case 'rich_text':
      return slackRichText(block);
    default:
      return '';
  }
}

function textOf(text: Members): string {
  const isPlain = text.text('type') === 'plain_text';
  return (isPlain ? asParagraphs : slackText)(text.text('text'));
}

/** A part of a line: a text, a picture, or a button. A button without an address is left out, because it would do nothing. */
function elementOf(element: Members): string {
  switch (element.text('type')) {
    case 'mrkdwn':
      return slackLine(shortened(element.text('text'), CONTEXT_LENGTH));
    case 'plain_text':
      return asText(element.text('text'));
    case 'image':
      return pictureOf(element, element.text('alt_text'));
    case 'button':
      return element.has('url')
        ? linked(asText(element.object('text').text('text')), element.text('url'))
        : '';
    default:
      return '';
  }
}

/** A link, because a picture elsewhere would tell its owner who reads the note. */
function pictureOf(holder: Members, description: string): string {
  return link(asText(description) || 'Picture', holder.text('image_url'));
}
