/** Commands that post, replace, change and delete notes. */
import fc from 'fast-check';
import { readIdIn } from '../support/feed-client.ts';
import { command, JSON_TYPE, noteAt, onNote, passwordOf, refusalOf, sameNote, withNotes } from './command.ts';
import { fileOf, MEDIA, type Meta, type ModelFeed, type Type } from './model.ts';
import { type ServiceClient, same } from './service-client.ts';
import {
  bytesOf,
  line,
  maybe,
  meta,
  NEW_FEED,
  NO_META,
  name,
  password,
  place,
  readId,
  seed,
  sent,
  size,
  text,
  type,
} from './values.ts';

export const post = fc.record({ name, type, text, size, seed, meta, readId, sent, password }).map((values) =>
  command('post', values, ({ name, type, text, size, seed, meta = NO_META, readId, sent, password }) => {
    const bytes = bytesOf(type, text, size, seed);
    const kept: Meta = type === 'md' ? { ...meta, alt: '', name: '' } : meta;
    const passwordFor = (feed: ModelFeed | undefined) =>
      feed === undefined ? password : passwordOf(feed, sent);
    const chosen = (service: ServiceClient) => (readId === '' ? '' : service.prefix + readId);
    return {
      name,
      send: (service, feed) =>
        service.askAbout(name, passwordFor(feed), '/notes', {
          method: 'POST',
          headers: { ...headersOf(type, kept), ...(readId !== '' && { 'x-read-id': chosen(service) }) },
          body: bytes,
        }),
      expect(model, feed, service) {
        if (feed === undefined) return model.isTaken(chosen(service), name) ? '409 taken' : 201;
        if (feed.password === '') return passwordFor(feed) === '' ? 201 : '409 feed_exists';
        return passwordFor(feed) === feed.password ? 201 : '401 auth';
      },
      taken(model, { json }, feed, service) {
        const note = { id: json.id, type, bytes, meta: kept };
        const answered = readIdIn(json.read_url);
        if (feed !== undefined) same(answered, feed.readId, 'the read id of the feed');
        else if (readId !== '') same(answered, chosen(service), 'the chosen read id');
        else if (model.seen.has(answered)) throw new Error('a random read id was given twice');
        const made = { ...NEW_FEED, readId: answered, password: passwordFor(undefined) };
        const { notes, ...others } = feed ?? made;
        model.put(name, { ...others, notes: [note, ...notes] });
      },
    };
  }),
);

export const replace = fc
  .record({ name, place, type: fc.option(type, { nil: undefined }), text, size, seed, sent })
  .map((values) =>
    command('replace', values, ({ name, place, type: other, text, size, seed, sent }) => {
      const typeFor = (feed: ModelFeed | undefined) => other ?? noteAt(feed, place)?.type ?? 'md';
      return {
        ...onNote(name, place, sent, 'PUT', (feed) => {
          const type = typeFor(feed);
          return {
            headers: { 'content-type': MEDIA[type], 'x-note-title': 'ignored' },
            body: bytesOf(type, text, size, seed),
          };
        }),
        expect(model, feed) {
          const refusal = refusalOf(model, name, feed, sent);
          const note = noteAt(feed, place);
          if (refusal !== undefined) return refusal;
          if (note === undefined) return '404 not_found';
          return note.type === typeFor(feed) ? 200 : '415 unsupported_type';
        },
        taken: async (model, { json }, feed, service) => {
          const note = { ...noteAt(feed, place)!, bytes: bytesOf(typeFor(feed), text, size, seed) };
          withNotes(model, name, feed!, (old) => (old.id === note.id ? note : old));
          sameNote(json, note, feed!);
          await service.checkFile(feed!.readId, note);
        },
      };
    }),
  );

export const change = fc.record({ name, place, title: maybe(line), alt: maybe(line), sent }).map((values) =>
  command('change', values, ({ name, place, title, alt, sent }) => ({
    ...onNote(name, place, sent, 'PATCH', () => ({
      headers: JSON_TYPE,
      body: JSON.stringify({ title: title ?? undefined, alt: alt ?? undefined }),
    })),
    expect(model, feed) {
      const refusal = refusalOf(model, name, feed, sent);
      const note = noteAt(feed, place);
      if (refusal !== undefined) return refusal;
      if (title === null && alt === null) return '400 invalid_request';
      if (note === undefined) return '404 not_found';
      return note.type === 'md' && alt !== null ? '400 invalid_request' : 200;
    },
    taken(model, { json }, feed) {
      const old = noteAt(feed, place)!;
      const meta = { ...old.meta, ...(title !== null && { title }), ...(alt !== null && { alt }) };
      withNotes(model, name, feed!, (note) => (note.id === old.id ? { ...old, meta } : note));
      sameNote(json, { ...old, meta }, feed!);
    },
  })),
);

export const remove = fc.record({ name, place, sent }).map((values) =>
  command('remove', values, ({ name, place, sent }) => ({
    ...onNote(name, place, sent, 'DELETE', () => ({})),
    expect: (model, feed) =>
      refusalOf(model, name, feed, sent) ?? (noteAt(feed, place) === undefined ? '404 not_found' : 204),
    async taken(model, _, feed, service) {
      const note = noteAt(feed, place)!;
      withNotes(model, name, feed!, (old) => (old.id === note.id ? undefined : old));
      same(
        (await service.ask(`/r/${feed!.readId}/${fileOf(note)}`)).status,
        404,
        'the file of a deleted note',
      );
    },
  })),
);

/** Texts in the form that every byte survives (RFC 8187). */
function headersOf(type: Type, { title, alt, name, tags }: Meta): Record<string, string> {
  const extended = (text: string) => `UTF-8''${encodeURIComponent(text)}`;
  return {
    'content-type': MEDIA[type],
    ...(title !== '' && { 'x-note-title*': extended(title) }),
    ...(alt !== '' && { 'x-note-alt*': extended(alt) }),
    ...(name !== '' && { 'x-note-name': name }),
    ...(tags.length > 0 && { 'x-note-tags': tags.join() }),
  };
}
