/** Commands that change and delete feeds. */
import fc from 'fast-check';
import { readIdIn } from '../support/feed-client.ts';
import { command, JSON_TYPE, noteAt, passwordOf, refusalOf } from './command.ts';
import { fileOf, MEDIA, type ModelFeed } from './model.ts';
import type { ServiceClient } from './service-client.ts';
import { line, name, place, readId, sent } from './values.ts';

export const settings = fc
  .record({
    name,
    sent,
    title: line,
    description: line,
    showSender: fc.option(fc.boolean()),
    listed: fc.option(fc.boolean()),
    image: fc.option(fc.oneof(fc.constant(''), place)),
    readId: fc.option(fc.oneof(readId, fc.constant('own')), { freq: 2 }),
  })
  .map((values) =>
    command('settings', values, ({ name, sent, title, description, showSender, listed, image, readId }) => {
      const imageFor = (feed: ModelFeed | undefined) => {
        if (typeof image !== 'number') return image;
        const note = noteAt(feed, image);
        return note === undefined ? 'absent.png' : fileOf(note);
      };
      const readIdFor = (service: ServiceClient, feed: ModelFeed | undefined) => {
        if (readId === 'own') return feed?.readId ?? '';
        return readId === null || readId === '' ? readId : service.prefix + readId;
      };
      return {
        name,
        send: (service, feed) =>
          service.askAbout(name, passwordOf(feed, sent), '', {
            method: 'PUT',
            headers: JSON_TYPE,
            body: JSON.stringify({
              title,
              description,
              show_sender: showSender ?? undefined,
              listed: listed ?? undefined,
              image: imageFor(feed) ?? undefined,
              read_id: readIdFor(service, feed) ?? undefined,
            }),
          }),
        expect(model, feed, service) {
          const refusal = refusalOf(model, name, feed, sent);
          if (refusal !== undefined) return refusal;
          const file = imageFor(feed);
          if (file !== null && file !== '' && (file.endsWith('.md') || file === 'absent.png'))
            return '400 invalid_request';
          return model.isTaken(readIdFor(service, feed) ?? '', name) ? '409 taken' : 200;
        },
        async taken(model, _, feed, service) {
          const wanted = readIdFor(service, feed) ?? feed!.readId;
          const now = wanted === '' ? await learned(service, name, feed!) : wanted;
          if (wanted === '' && model.seen.has(now)) throw new Error('a random read id was given twice');
          model.put(name, {
            ...feed!,
            title,
            description,
            showSender: showSender ?? feed!.showSender,
            listed: listed ?? feed!.listed,
            image: imageFor(feed) ?? feed!.image,
            readId: now,
          });
        },
      };
    }),
  );

export const deleteFeed = fc.record({ name, sent }).map((values) =>
  command('delete feed', values, ({ name, sent }) => ({
    name,
    send: (service, feed) => service.askAbout(name, passwordOf(feed, sent), '', { method: 'DELETE' }),
    expect: (model, feed) => refusalOf(model, name, feed, sent) ?? 204,
    taken: (model) => model.delete(name),
  })),
);

export const setPassword = fc
  .record({ name, sent, password: fc.constantFrom('first', 'second', 'third') })
  .map((values) =>
    command('set password', values, ({ name, sent, password }) => ({
      name,
      send: (service, feed) =>
        service.askAbout(name, passwordOf(feed, sent), '/password', {
          method: 'PUT',
          headers: JSON_TYPE,
          body: JSON.stringify({ password }),
        }),
      expect: (model, feed) =>
        refusalOf(model, name, feed, sent) ?? (feed?.password === '' ? '409 feed_exists' : 204),
      taken: (model, _, feed) => model.put(name, { ...feed!, password }),
    })),
  );

export const removePassword = fc.record({ name, sent }).map((values) =>
  command('remove password', values, ({ name, sent }) => ({
    name,
    send: (service, feed) =>
      service.askAbout(name, passwordOf(feed, sent), '/password', { method: 'DELETE' }),
    expect: (model, feed) =>
      refusalOf(model, name, feed, sent) ?? (feed?.password === '' ? '409 feed_exists' : 204),
    taken: (model, _, feed) => model.put(name, { ...feed!, password: '' }),
  })),
);

/** The read id that a feed has now. Without notes its record has no link: then a note is posted and deleted. */
async function learned(service: ServiceClient, name: string, { password }: ModelFeed): Promise<string> {
  const { json } = await service.askAbout(name, password, '/notes', {
    method: 'POST',
    headers: { 'content-type': MEDIA.md },
    body: 'a note that shows the link',
  });
  await service.askAbout(name, password, `/notes/${json.id}`, { method: 'DELETE' });
  return readIdIn(json.read_url);
}
