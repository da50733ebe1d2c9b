/** Commands that read, and compare what they read with the model. */
import fc from 'fast-check';
import { type Command, command, noteAt, passwordOf, refusalOf, sameNote, tagged } from './command.ts';
import { type ModelNote, textOf } from './model.ts';
import { same } from './service-client.ts';
import { name, place, sent, TAGS } from './values.ts';

export const list = fc
  .record({ name, sent, limit: fc.integer({ min: 1, max: 4 }), tag: fc.option(fc.constantFrom(...TAGS)) })
  .map((values) =>
    command('list', values, ({ name, sent, limit, tag }) => {
      const query = `/notes?limit=${limit}${tag === null ? '' : `&tag=${tag}`}`;
      return {
        name,
        send: (service, feed) => service.askAbout(name, passwordOf(feed, sent), query),
        // The list of an absent feed is empty.
        expect: (model, feed) => (feed && refusalOf(model, name, feed, sent)) ?? 200,
        async taken(_, reply, feed, service) {
          const found: string[] = [];
          for (let page = reply; ; ) {
            const { notes, next } = page.json;
            if (notes.length > limit) throw new Error(`a page of ${limit} has ${notes.length}`);
            found.push(...notes.map(({ id }: ModelNote) => id));
            if (next === null) break;
            page = await service.askAbout(
              name,
              passwordOf(feed, sent),
              `${query}&before=${encodeURIComponent(next)}`,
            );
          }
          same(found, feed === undefined ? [] : tagged(feed, tag).map(({ id }) => id), 'the pages of a list');
        },
      };
    }),
  );

export const readers = fc.record({ tag: fc.option(fc.constantFrom(...TAGS)), name, place }).map(
  ({ tag, name, place }): Command => ({
    check: (model) => model.feeds.has(name),
    async run(model, service) {
      const feed = model.feeds.get(name)!;
      const rss = await service.ask(`/r/${feed.readId}/feed.xml${tag === null ? '' : `?tag=${tag}`}`);
      const isLeftOut = (note: ModelNote) => {
        const text = textOf(note, feed);
        return text !== undefined && (tag === null || text.meta.tags.includes(tag));
      };
      const uuids = tagged(feed, tag)
        .filter((note) => !isLeftOut(note))
        .slice(0, 50)
        .map(({ id }) => id.slice(-36));
      same(rss.text.match(/(?<=urn:uuid:)[0-9a-f-]{36}/g) ?? [], uuids, 'the items of RSS');
      const note = noteAt(feed, place);
      if (note === undefined) return;
      await service.checkFile(feed.readId, note);
      const read = await service.ask(`/api/v1/read/${feed.readId}/notes/${note.id}`);
      sameNote(read.json, note, feed);
    },
    toString: () => `readers ${JSON.stringify({ tag, name, place })}`,
  }),
);
