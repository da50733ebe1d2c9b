import { createHash } from 'node:crypto';
import type { FeedClient } from '../../support/feed-client.ts';
import { field, png } from '../../support/multipart.ts';
import { picture } from '../../support/pictures.ts';
import type { Reply } from '../../support/service.ts';
import { Promised } from './promised.ts';
import { answered, bytesAt, feedOf, type Load, same, type WriteKind } from './write-kind.ts';

/** How many notes each client changes over and over. */
const NOTES = 5;
const CLIENTS = 2;
const WRONG = { 'if-match': '"of another version"' };

/** What a note is. Pictures that it refers to are named by their hash. */
interface State {
  readonly content: string;
  readonly title: string;
  readonly tags: readonly string[];
}

interface Edited {
  readonly id: string;
  readonly isPicture: boolean;
  readonly promised: Promised<State>;
  etag: string;
}

/** Replaces notes and changes their metadata, with and without `If-Match`. */
export function edits(load: Load): WriteKind {
  const notes: Edited[][] = Array.from({ length: CLIENTS }, () => []);
  let count = 0;
  const feedOfClient = (client: number) => feedOf(load, `edited-${client}`);

  const make = async (client: number) => {
    const isPicture = notes[client]!.length % 2 === 1;
    const seed = ++count;
    const bytes = isPicture ? picture('png', 4_000, seed) : Buffer.from(`text ${seed}`);
    const type = isPicture ? 'image/png' : 'text/markdown';
    const headers = { 'content-type': type, 'x-note-title': `title ${seed}`, 'x-note-tags': `a${seed},b` };
    const { json, headers: fields } = answered(await feedOfClient(client).post(bytes, headers), 201);
    const state = {
      content: isPicture ? hashOf(bytes) : bytes.toString(),
      title: `title ${seed}`,
      tags: [`a${seed}`, 'b'],
    };
    notes[client]!.push({
      id: json.id,
      isPicture,
      promised: new Promised<State>(state),
      etag: fields.get('etag')!,
    });
  };

  /** A way to change a note in that state: what it makes of it, and the request. */
  const change = (
    state: State,
    { id, isPicture }: Edited,
  ): readonly [State, (feed: FeedClient) => Promise<Reply>] => {
    const seed = ++count;
    const bytes = picture('png', load.random.oneOf([300, 20_000, 150_000]), seed);
    const way = load.random.below(3);
    if (way === 0) {
      const meta = { title: `title ${seed}`, tags: [`a${seed}`, 'b'] };
      return [{ ...state, ...meta }, (feed) => feed.send('PATCH', `/notes/${id}`, JSON.stringify(meta))];
    }
    if (isPicture)
      return [
        { ...state, content: hashOf(bytes) },
        (feed) => feed.with({ 'content-type': 'image/png' }).put(`/notes/${id}`, bytes),
      ];
    if (way === 1)
      return [
        { ...state, content: `text ${seed}` },
        (feed) => feed.with({ 'content-type': 'text/markdown' }).put(`/notes/${id}`, `text ${seed}`),
      ];
    const parts = [field('text', `text ${seed} ![](<new.png>)`), png('new.png', bytes)];
    return [{ ...state, content: `text ${seed} ![](<${hashOf(bytes)}>)` }, (feed) => feed.putForm(id, parts)];
  };

  const found = async (feed: FeedClient, { id, isPicture }: Edited) => {
    const { json, headers } = answered(await feed.get(`/notes/${id}`), 200);
    const { title, tags, file_url: url } = json;
    const bytes = await bytesAt(url);
    let content = isPicture ? hashOf(bytes) : bytes.toString();
    if (!isPicture) same(json.content, content, 'the content of a note and its file');
    const [, file] = /<(.+)>/.exec(content) ?? [];
    if (file !== undefined)
      content = content.replace(file, hashOf(await bytesAt(url.replace(/[^/]+$/, file))));
    return { state: { content, title, tags }, etag: headers.get('etag')! };
  };

  return {
    name: 'edits',
    clients: CLIENTS,
    write: async (client) => {
      const own = notes[client]!;
      if (own.length < NOTES) return make(client);
      const note = load.random.oneOf(own.filter(({ promised }) => promised.state));
      // The other writes of this client are in doubt.
      if (!note) throw new Error('no note is certain');
      const [state, send] = change(note.promised.state!, note);
      const condition = load.random.below(4);
      if (condition === 0) {
        answered(await send(feedOfClient(client).with(WRONG)), 412);
        return;
      }
      const feed = feedOfClient(client).with(condition === 1 ? { 'if-match': note.etag } : {});
      const reply = await note.promised.write(state, 200, () => send(feed));
      note.etag = reply.headers.get('etag')!;
    },
    check: async () => {
      for (const [client, own] of notes.entries())
        for (const note of own) {
          const { state, etag } = await found(feedOfClient(client), note);
          const wasCertain = note.promised.state !== undefined;
          note.promised.settle(state, 'an edited note');
          if (wasCertain) same(etag, note.etag, 'the ETag of an edited note');
          note.etag = etag;
        }
    },
  };
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
