import fc from 'fast-check';
import { readIdIn } from '../support/feed-client.ts';
import { picture } from '../support/pictures.ts';
import type { Reply } from '../support/service.ts';
import {
  fileOf,
  MEDIA,
  type Meta,
  type Model,
  type ModelFeed,
  type ModelNote,
  type Outcome,
  shown,
  type Type,
} from './model.ts';
import { type ServiceClient, same, undated } from './service-client.ts';

/** The feeds of a run. */
export const NAMES = ['owl', 'wren', 'tit'] as const;
const TYPES = ['md', 'png', 'jpg', 'gif', 'webp'] as const;
const PASSWORDS = ['', 'first', 'second'] as const;
const READ_IDS = ['readers', 'others', 'third_one', 'four', 'five', 'six', 'seven'] as const;
const TAGS = ['red', 'green', 'blue'] as const;

type Command = fc.AsyncCommand<Model, ServiceClient>;

/** A request, what the model says of it, and what it does to the model when it is taken. */
interface Step {
  /** Which feed is asked about. */
  readonly name: string;
  send(service: ServiceClient, feed: ModelFeed | undefined): Promise<Reply>;
  expect(model: Model, feed: ModelFeed | undefined, service: ServiceClient): Outcome;
  /** Called after a success; may check the answer. */
  taken?(
    model: Model,
    reply: Reply,
    feed: ModelFeed | undefined,
    service: ServiceClient,
  ): void | Promise<void>;
}

/** Makes a command of a step: the answer must be the expected one, and all feeds must then be as in the model. */
function command<T>(title: string, values: T, stepOf: (values: T) => Step): Command {
  return {
    check: () => true,
    async run(model, service) {
      const step = stepOf(values);
      const feed = model.feeds.get(step.name);
      const expected = step.expect(model, feed, service);
      const reply = await step.send(service, feed);
      const code = reply.json?.code;
      same(reply.status >= 400 ? `${reply.status} ${code}` : reply.status, expected, this.toString());
      if (typeof expected === 'number') await step.taken?.(model, reply, feed, service);
      await service.check(model, NAMES);
    },
    toString: () => `${title} ${JSON.stringify(values)}`,
  };
}

const name = fc.constantFrom(...NAMES);
const password = fc.constantFrom(...PASSWORDS);
/** Mostly the right password, sometimes any. */
const sent = fc.oneof({ weight: 6, arbitrary: fc.constant('right') }, { weight: 1, arbitrary: password });
/** Which note, counted round from the newest; one in ten is absent. */
const place = fc.integer({ min: 0, max: 9 });
const seed = fc.integer({ min: 0, max: 255 });
const line = fc
  .string({ unit: fc.constantFrom('a', 'b', 'ü', '😀', '"', '<', '&', ' '), maxLength: 12 })
  .map((text) => text.trim());
/** As often nothing as something. */
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 2 });
/** A word, as a heading or not, and any text below it that makes no other heading. */
const text = fc
  .tuple(
    fc.boolean(),
    fc.constantFrom('alpha', 'beta', 'gamma'),
    fc.string({ unit: fc.constantFrom('x', 'é', '\n', ' ', '<', '*', '[', '😀') }),
  )
  .map(([isHeading, word, rest]) => `${isHeading ? '# ' : ''}${word}\n\n${rest}`);
const type = fc.oneof(fc.constant('md' as const), fc.constantFrom(...TYPES));
const size = fc.constantFrom(40, 3_000, 70_000);
const tags = fc.uniqueArray(fc.constantFrom(...TAGS));
const meta = fc.option(fc.record({ title: line, alt: line, name: fc.constantFrom('', 'cat.png'), tags }), {
  nil: undefined,
});
const readId = fc.oneof({ weight: 2, arbitrary: fc.constant('') }, fc.constantFrom(...READ_IDS));

const post = fc.record({ name, type, text, size, seed, meta, readId, sent, password }).map((values) =>
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

const replace = fc
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
          sameNote(json, note);
          await service.checkFile(feed!.readId, note);
        },
      };
    }),
  );

const change = fc.record({ name, place, title: maybe(line), alt: maybe(line), sent }).map((values) =>
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
      sameNote(json, { ...old, meta });
    },
  })),
);

const remove = fc.record({ name, place, sent }).map((values) =>
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

const settings = fc
  .record({
    name,
    sent,
    title: line,
    description: line,
    showSender: fc.option(fc.boolean()),
    image: fc.option(fc.oneof(fc.constant(''), place)),
    readId: fc.option(fc.oneof(readId, fc.constant('own')), { freq: 2 }),
  })
  .map((values) =>
    command('settings', values, ({ name, sent, title, description, showSender, image, readId }) => {
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
            image: imageFor(feed) ?? feed!.image,
            readId: now,
          });
        },
      };
    }),
  );

const deleteFeed = fc.record({ name, sent }).map((values) =>
  command('delete feed', values, ({ name, sent }) => ({
    name,
    send: (service, feed) => service.askAbout(name, passwordOf(feed, sent), '', { method: 'DELETE' }),
    expect: (model, feed) => refusalOf(model, name, feed, sent) ?? 204,
    taken: (model) => model.delete(name),
  })),
);

const setPassword = fc
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

const removePassword = fc.record({ name, sent }).map((values) =>
  command('remove password', values, ({ name, sent }) => ({
    name,
    send: (service, feed) =>
      service.askAbout(name, passwordOf(feed, sent), '/password', { method: 'DELETE' }),
    expect: (model, feed) =>
      refusalOf(model, name, feed, sent) ?? (feed?.password === '' ? '409 feed_exists' : 204),
    taken: (model, _, feed) => model.put(name, { ...feed!, password: '' }),
  })),
);

const list = fc
  .record({ name, sent, limit: fc.integer({ min: 1, max: 4 }), tag: fc.option(fc.constantFrom(...TAGS)) })
  .map((values) =>
    command('list', values, ({ name, sent, limit, tag }) => {
      const query = `/notes?limit=${limit}${tag === null ? '' : `&tag=${tag}`}`;
      return {
        name,
        send: (service, feed) => service.askAbout(name, passwordOf(feed, sent), query),
        expect: (model, feed) => refusalOf(model, name, feed, sent) ?? 200,
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
          same(
            found,
            tagged(feed!, tag).map(({ id }) => id),
            'the pages of a list',
          );
        },
      };
    }),
  );

const readers = fc.record({ tag: fc.option(fc.constantFrom(...TAGS)), name, place }).map(
  ({ tag, name, place }): Command => ({
    check: (model) => model.feeds.has(name),
    async run(model, service) {
      const feed = model.feeds.get(name)!;
      const rss = await service.ask(`/r/${feed.readId}/feed.xml${tag === null ? '' : `?tag=${tag}`}`);
      const uuids = tagged(feed, tag)
        .slice(0, 50)
        .map(({ id }) => id.slice(-36));
      same(rss.text.match(/(?<=urn:uuid:)[0-9a-f-]{36}/g) ?? [], uuids, 'the items of RSS');
      const note = noteAt(feed, place);
      if (note === undefined) return;
      await service.checkFile(feed.readId, note);
      const read = await service.ask(`/api/v1/read/${feed.readId}/notes/${note.id}`);
      sameNote(read.json, note);
    },
    toString: () => `readers ${JSON.stringify({ tag, name, place })}`,
  }),
);

const restart = fc.constantFrom('SIGTERM', 'SIGKILL').map(
  (signal): Command => ({
    check: () => true,
    async run(model, service) {
      await service.restart(signal);
      await service.checkAll(model, NAMES);
    },
    toString: () => `restart after ${signal}`,
  }),
);

/** Any command, as often as the others as it takes to fill and empty feeds. */
const weighted: [number, fc.Arbitrary<Command>][] = [
  [30, post],
  [12, replace],
  [12, change],
  [10, remove],
  [12, settings],
  [4, deleteFeed],
  [4, setPassword],
  [3, removePassword],
  [6, list],
  [6, readers],
  [1, restart],
];

export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  ...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })),
);

const JSON_TYPE = { 'content-type': 'application/json' };
const NO_META: Meta = { title: '', alt: '', name: '', tags: [] };
const NEW_FEED: ModelFeed = {
  readId: '',
  title: '',
  description: '',
  showSender: true,
  image: '',
  password: '',
  notes: [],
};

function bytesOf(type: Type, text: string, size: number, seed: number): Buffer<ArrayBuffer> {
  return type === 'md' ? Buffer.from(text) : picture(type, size, seed);
}

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

/** A request about one note of a feed. */
function onNote(
  name: string,
  place: number,
  sent: string,
  method: string,
  init: (feed: ModelFeed | undefined) => RequestInit,
): Pick<Step, 'name' | 'send'> {
  return {
    name,
    send: (service, feed) => {
      const id = noteAt(feed, place)?.id ?? '20260101T000000Z-00000000-0000-7000-8000-000000000000';
      return service.askAbout(name, passwordOf(feed, sent), `/notes/${id}`, { method, ...init(feed) });
    },
  };
}

/** The last place is always empty. */
function noteAt(feed: ModelFeed | undefined, place: number): ModelNote | undefined {
  const notes = feed?.notes ?? [];
  return place === 9 ? undefined : notes[place % Math.max(notes.length, 1)];
}

/** The password that is sent to a feed that may exist. */
function passwordOf(feed: ModelFeed | undefined, sent: string): string {
  return sent === 'right' ? (feed?.password ?? '') : sent;
}

function refusalOf(
  model: Model,
  name: string,
  feed: ModelFeed | undefined,
  sent: string,
): Outcome | undefined {
  return model.refusal(name, passwordOf(feed, sent));
}

/** Changes each note, or (undefined) drops it; a title image that is dropped is one no more. */
function withNotes(
  model: Model,
  name: string,
  feed: ModelFeed,
  change: (note: ModelNote) => ModelNote | undefined,
): void {
  const notes = feed.notes.map(change).filter((note) => note !== undefined);
  const image = notes.some((note) => fileOf(note) === feed.image) ? feed.image : '';
  model.put(name, { ...feed, notes, image });
}

function tagged({ notes }: ModelFeed, tag: string | null): ModelNote[] {
  return notes.filter(({ meta }) => tag === null || meta.tags.includes(tag));
}

function sameNote(json: unknown, note: ModelNote): void {
  const { file_url: _, url: __, ...found } = undated(json) as Record<string, unknown>;
  same(found, shown(note), 'the note that was answered');
}

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
