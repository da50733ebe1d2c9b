import { discordText } from './discord-text.ts';
import { type HookKind, tagsOf } from './hook.ts';
import { asText, blocks, inRow, link, linked, strong } from './markdown.ts';
import { Members } from './members.ts';

/** As Discord allows. */
const MAX_EMBEDS = 10;
const MAX_FIELDS = 25;

/** Webhooks of Discord (https://docs.discord.com/developers/resources/webhook#execute-webhook). */
export const discord: HookKind = {
  answer: 'nothing',
  notes: (payload) => {
    const message = new Members(payload);
    const embeds = message.list('embeds').slice(0, MAX_EMBEDS);
    const markdown = blocks(discordText(message.text('content')), ...embeds.map(embedOf));
    if (markdown === '') throw message.refusal('content', 'a text');
    return [{ markdown, tags: tagsOf('discord') }];
  },
};

function embedOf(embed: Members): string {
  const author = embed.object('author');
  const title = embed.text('title');
  return blocks(
    linked(asText(author.text('name')), author.text('url')),
    title === '' ? '' : linked(strong(title), embed.text('url')),
    discordText(embed.text('description')),
    ...embed
      .list('fields')
      .slice(0, MAX_FIELDS)
      .map((field) => blocks(strong(field.text('name')), discordText(field.text('value')))),
    // Links, because a picture elsewhere would tell its owner who reads the note.
    linkOf('Picture', embed.object('image')),
    linkOf('Video', embed.object('video')),
    inRow(asText(embed.object('footer').text('text')), asText(embed.text('timestamp'))),
  );
}

function linkOf(text: string, media: Members): string {
  return link(text, media.text('url'));
}
