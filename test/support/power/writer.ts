import { mediaType, PICTURE_TYPES, type PictureType } from '../../../src/feeds/note-types.ts';
import { FeedClient, readIdIn } from '../feed-client.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../multipart.ts';
import { picture } from '../pictures.ts';
import { randomNumbers } from '../random.ts';
import type { Reply } from '../service.ts';
import {
  type Ledger,
  type LedgerFeed,
  type Part,
  type Parts,
  Post,
  type Settings,
  sha256,
  TEXT,
} from './ledger.ts';

/** Where short-lived notes go: what is counted there depends on the moment. */
export const FLEETING = 'fleeting';

const FILLER = 'some words of a note\n';
const TEXT_LENGTHS = [0, 0, 400, 8_000, 40_000];
/** One block of a disk and less, several blocks, a worker's job. */
const PICTURE_LENGTHS = [60, 4_000, 20_000, 70_000];
const MAX_PICTURES = 3;
const SHARED_FEEDS = 3;
const SHORT_LIFE_MS = 600;
const LONG_LIFE_MS = 3_600_000;
/** Requests of one client after the cut, which all should fail. */
const AFTER_CUT = 5;

/** A request, and what its answer changes in the ledger. */
interface Attempt {
  readonly what: string;
  readonly send: () => Promise<Reply>;
  readonly statuses: readonly number[];
  readonly taken: (reply: Reply) => void;
}

/** What the clients of one round share. */
export interface Round {
  readonly url: string;
  readonly ledger: Ledger;
  readonly number: number;
  /** The power is off, or about to be. */
  readonly isCut: () => boolean;
  /** Called at each answer with success. */
  readonly onAnswer: () => void;
  /** Answers that should not be. */
  readonly problems: string[];
}

/** A client that posts, edits and deletes, one request after the other; only it changes its notes and its own feeds. */
export class Writer {
  readonly #round: Round;
  readonly #index: number;
  readonly #random: () => number;
  /** Its notes, with their feeds. */
  readonly #mine: (readonly [LedgerFeed, Post])[] = [];

  constructor(round: Round, index: number, seed: number) {
    this.#round = round;
    this.#index = index;
    this.#random = randomNumbers(seed);
  }

  /** Sends requests until the service is gone. */
  async run(): Promise<void> {
    for (let after = 0; after < AFTER_CUT; after += this.#round.isCut() ? 1 : 0) {
      const attempt = this.#next();
      const reply = await attempt.send().catch(() => undefined);
      if (reply === undefined) {
        if (!this.#round.isCut()) this.#round.problems.push(`no answer before the cut to ${attempt.what}`);
        return;
      }
      if (attempt.statuses.includes(reply.status)) {
        attempt.taken(reply);
        this.#round.onAnswer();
      } else if (reply.status < 500) {
        this.#round.problems.push(`${attempt.what} was answered ${reply.status} ${reply.text.slice(0, 200)}`);
        return;
      }
      // Else it may be stored or not: also a busy machine without a cut answers so if a database is slow.
    }
  }

  #next(): Attempt {
    for (;;) {
      const attempt = this.#pick<() => Attempt | undefined>([
        ...Array<() => Attempt>(7).fill(() => this.#postOne()),
        ...Array<() => Attempt>(4).fill(() => this.#postForm()),
        ...Array<() => Attempt>(2).fill(() => this.#putByKey()),
        ...Array<() => Attempt | undefined>(2).fill(() => this.#replace()),
        ...Array<() => Attempt | undefined>(2).fill(() => this.#describe()),
        ...Array<() => Attempt | undefined>(2).fill(() => this.#remove()),
        () => this.#replaceByForm(),
        () => this.#postFleeting(),
        () => this.#configure(),
        () => this.#setPassword(),
        () => this.#removeFeed(),
        () => this.#refused(),
      ])();
      if (attempt) return attempt;
    }
  }

  #postOne(): Attempt {
    const keyed = this.#isOneOf(4);
    const [feed, post] = this.#newPost();
    const part = this.#freshPart(post, this.#isOneOf(2) ? undefined : this.#pick(PICTURE_TYPES), {
      ...(keyed && { key: `key ${post.number}` }),
      ...(!keyed && this.#isOneOf(8) && { expires: inFuture(LONG_LIFE_MS) }),
    });
    if (keyed) post.keyed = { body: part.body, headers: part.headers };
    return this.#posting(`a post of ${part.what}`, feed, post, part);
  }

  #postFleeting(): Attempt {
    const [feed, post] = this.#newPost(FLEETING);
    const type = this.#isOneOf(2) ? undefined : this.#pick(PICTURE_TYPES);
    const part = this.#freshPart(post, type, { expires: inFuture(SHORT_LIFE_MS * this.#random()) });
    // Nobody changes it, because it may be gone.
    this.#mine.pop();
    const attempt = this.#posting('a short-lived post', feed, post, part);
    return {
      ...attempt,
      // It may arrive when its time is over.
      statuses: [201, 400],
      taken: (reply) => (reply.status === 201 ? attempt.taken(reply) : post.settle(new Map())),
    };
  }

  #posting(what: string, feed: LedgerFeed, post: Post, { slot, part, headers, body }: FreshPart): Attempt {
    const parts = new Map([[slot, part]]);
    this.#changing(post, parts);
    return {
      what,
      send: () => this.#client(feed).post(body, headers),
      statuses: [201],
      taken: (reply) => {
        post.settle(parts);
        learn(post, slot, reply.json);
        this.#born(feed, reply);
      },
    };
  }

  /** Makes the note of a key or replaces it. */
  #putByKey(): Attempt {
    const again = this.#isOneOf(2)
      ? undefined
      : this.#changeable(
          ([, { settled }]) => [...settled.values()][0]!.key !== undefined && settled.size === 1,
        );
    const [feed, post] = again ?? this.#newPost();
    const [slot, old] = [...post.settled][0] ?? [];
    const type = old ? pictureTypeOf(old) : this.#isOneOf(2) ? undefined : this.#pick(PICTURE_TYPES);
    const fresh = this.#freshPart(post, type, {
      key: old?.key ?? `put ${post.number}`,
      ...(slot !== undefined && slot !== TEXT && { name: slot }),
    });
    const { 'idempotency-key': key = '', ...headers } = fresh.headers;
    const parts = new Map([[slot ?? fresh.slot, fresh.part]]);
    this.#changing(post, parts);
    return {
      what: `a PUT by key of ${fresh.what}`,
      send: () =>
        this.#client(feed)
          .with(headers)
          .put(`/notes?key=${encodeURIComponent(key)}`, fresh.body),
      statuses: [old ? 200 : 201],
      taken: (reply) => {
        post.settle(parts);
        learn(post, slot ?? fresh.slot, reply.json);
        if (!old) this.#born(feed, reply);
      },
    };
  }

  #postForm(): Attempt {
    const [feed, post] = this.#newPost();
    const keyed = this.#isOneOf(4);
    const tags = [tagOf(post)];
    const headers = {
      'content-type': FORM_TYPE,
      'x-note-tags': tags.join(),
      ...(keyed && { 'idempotency-key': `key ${post.number}` }),
    };
    const { parts, sent } = this.#formParts(
      post,
      tags,
      !this.#isOneOf(8),
      keyed ? `key ${post.number}` : undefined,
    );
    const body = formBody(sent);
    if (keyed) post.keyed = { body, headers };
    const [first = ''] = parts.keys();
    this.#changing(post, parts);
    return {
      what: 'a form',
      send: () => this.#client(feed).post(body, headers),
      statuses: [201],
      taken: (reply) => {
        post.settle(parts);
        learn(post, first, reply.json);
        learnAttachments(post, parts, reply);
        this.#born(feed, reply);
      },
    };
  }

  #replaceByForm(): Attempt | undefined {
    const [feed, post] = this.#changeable(([, { settled, ids }]) => settled.has(TEXT) && ids.has(TEXT)) ?? [];
    if (!feed || !post) return undefined;
    const old = post.settled.get(TEXT)!;
    const tags = [tagOf(post)];
    const { parts: added, sent } = this.#formParts(post, tags, true, undefined);
    const parts = new Map([...post.settled, ...added, [TEXT, { ...old, text: added.get(TEXT)!.text! }]]);
    const pictures = new Map([...added].filter(([slot]) => slot !== TEXT));
    this.#changing(post, parts);
    return {
      what: 'a PUT of a form',
      send: () => this.#client(feed).with({ 'x-note-tags': tags.join() }).putForm(post.ids.get(TEXT)!, sent),
      statuses: [200],
      taken: (reply) => {
        post.settle(parts);
        learnAttachments(post, pictures, reply);
      },
    };
  }

  #replace(): Attempt | undefined {
    const [feed, post, slot, old] = this.#changeablePart() ?? [];
    if (!feed || !post || slot === undefined || !old) return undefined;
    const { part, body } = this.#freshPart(post, pictureTypeOf(old));
    const bytes = part.text === undefined ? { sha256: part.sha256! } : { text: part.text };
    const parts = new Map([...post.settled, [slot, { ...old, ...bytes }]]);
    this.#changing(post, parts);
    return {
      what: `a PUT of ${old.type}`,
      send: () =>
        this.#client(feed)
          .with({ 'content-type': old.type })
          .put(`/notes/${post.ids.get(slot)}`, body),
      statuses: [200],
      taken: () => post.settle(parts),
    };
  }

  #describe(): Attempt | undefined {
    const [feed, post, slot, old] = this.#changeablePart() ?? [];
    if (!feed || !post || slot === undefined || !old) return undefined;
    const version = this.#version();
    const isPicture = old.text === undefined;
    const changed: Partial<Part> = this.#pick([
      { title: `title ${version}` },
      { title: '' },
      { tags: [tagOf(post), `v${version}`] },
      ...(isPicture ? [{ alt: `alt ${version}` }] : []),
    ]);
    const { expires: _, ...lasting } = old;
    const isLasting = old.expires !== undefined && this.#isOneOf(2);
    const parts = new Map([...post.settled, [slot, { ...(isLasting ? lasting : old), ...changed }]]);
    const body = JSON.stringify({ ...changed, ...(isLasting && { expires: '' }) });
    this.#changing(post, parts);
    return {
      what: 'a PATCH',
      send: () => this.#client(feed).send('PATCH', `/notes/${post.ids.get(slot)}`, body),
      statuses: [200],
      taken: () => post.settle(parts),
    };
  }

  #remove(): Attempt | undefined {
    const [feed, post, slot] = this.#changeablePart() ?? [];
    if (!feed || !post || slot === undefined) return undefined;
    const parts = new Map([...post.settled].filter(([other]) => other !== slot));
    this.#changing(post, parts);
    return {
      what: 'a DELETE of a note',
      send: () => this.#client(feed).send('DELETE', `/notes/${post.ids.get(slot)}`),
      statuses: [204],
      taken: () => post.settle(parts),
    };
  }

  #configure(): Attempt | undefined {
    const feed = this.#ownFeed();
    if (!feed?.isSettled) return undefined;
    const version = this.#version();
    const settings = {
      ...feed.settled!,
      title: `title ${version}`,
      description: this.#isOneOf(3) ? '' : `description ${version}`,
      ...(this.#isOneOf(3) && { readId: `chosen-${version}` }),
    };
    const { title, description, readId } = settings;
    return {
      what: 'a PUT of settings',
      ...this.#configuring(feed, settings),
      send: () =>
        this.#client(feed).set({ title, description, ...(readId !== undefined && { read_id: readId }) }),
      statuses: [200],
    };
  }

  #setPassword(): Attempt | undefined {
    const feed = this.#ownFeed();
    // A hash takes as long as many posts.
    if (!feed?.isSettled || !this.#isOneOf(3)) return undefined;
    const client = this.#client(feed);
    const isRemoval = feed.settled!.password !== '' && this.#isOneOf(2);
    const password = isRemoval ? '' : `password ${this.#version()}`;
    // On a feed without one there is nothing to change: 409.
    if (feed.settled!.password === '') return undefined;
    return {
      what: 'a change of a password',
      ...this.#configuring(feed, { ...feed.settled!, password }),
      send: () =>
        isRemoval
          ? client.send('DELETE', '/password')
          : client.send('PUT', '/password', JSON.stringify({ password })),
      statuses: [204],
    };
  }

  #removeFeed(): Attempt | undefined {
    const feed = this.#ownFeed();
    if (!feed?.isSettled || feed.posts.length < 3) return undefined;
    return {
      what: 'a DELETE of a feed',
      send: () => {
        feed.isGoing = true;
        return this.#client(feed).delete();
      },
      statuses: [204],
      taken: () => this.#round.ledger.removed(feed),
    };
  }

  /** A request that is refused, which must leave nothing. */
  #refused(): Attempt {
    const taken = () => {};
    const nobodys = new FeedClient(this.#round.url, `refused-${this.#index}`);
    const [feed, post, slot] = this.#changeablePart() ?? [];
    const keyed = feed && post?.keyed && post.keyed.headers['content-type'] !== FORM_TYPE ? post : undefined;
    const attempts: Attempt[] = [
      {
        what: 'a form with an alternative text of no file',
        send: () =>
          nobodys.postForm([
            ...this.#formParts(new Post(0), [], true, undefined).sent,
            field('alt.none', 'x'),
          ]),
        statuses: [400],
        taken,
      },
      { what: 'an empty note', send: () => nobodys.post(' \n'), statuses: [400], taken },
    ];
    if (feed && post && slot !== undefined)
      attempts.push({
        what: 'a DELETE of another version',
        send: () =>
          this.#client(feed)
            .with({ 'if-match': '"other"' })
            .send('DELETE', `/notes/${post.ids.get(slot)}`),
        statuses: [412],
        taken,
      });
    if (feed && keyed)
      attempts.push({
        what: 'another post under a used key',
        send: () =>
          this.#client(feed).post('refused', { 'idempotency-key': keyed.keyed!.headers['idempotency-key']! }),
        statuses: [422],
        taken,
      });
    return this.#pick(attempts);
  }

  /** Notes that a change may make of a post count as unsure from now on. */
  #changing(post: Post, parts: Parts): void {
    if (post.settled.size > 0) post.keyed = undefined;
    post.unsure = parts;
    post.isFresh = true;
  }

  /** A feed is there since the first answer to a post. */
  #born(feed: LedgerFeed, { json }: Reply): void {
    const readId = readIdIn(json.read_url);
    feed.settled ??= { ...feed.birth, readId };
    if (feed.settled.readId !== readId) this.#round.problems.push(`${feed.name} has two read ids`);
  }

  #configuring(feed: LedgerFeed, settings: Settings): Pick<Attempt, 'taken'> {
    feed.unsure = settings;
    return {
      taken: () => {
        feed.settled = settings;
        feed.unsure = undefined;
      },
    };
  }

  #newPost(name?: string): [LedgerFeed, Post] {
    const feed = name === undefined ? this.#someFeed() : this.#round.ledger.feed(name);
    const post = new Post(this.#round.ledger.nextNumber());
    feed.posts.push(post);
    this.#mine.push([feed, post]);
    return [feed, post];
  }

  #someFeed(): LedgerFeed {
    const { ledger, number } = this.#round;
    const own = this.#ownFeed();
    return this.#pick([
      () => ledger.feed(`shared-${this.#int(SHARED_FEEDS)}`),
      () => ledger.feed(`born-${number}-${this.#int(2)}`),
      () => (own.isGoing || own.unsure ? ledger.feed('shared-0') : own),
    ])();
  }

  /** One of two feeds that only this client uses; it may be yet to be born, some of them with a password. */
  #ownFeed(): LedgerFeed {
    const name = `own-${this.#index}-${this.#int(2)}`;
    return this.#round.ledger.feed(name, this.#isOneOf(4) ? 'first password' : '');
  }

  #changeable(isFit: (one: readonly [LedgerFeed, Post]) => boolean): readonly [LedgerFeed, Post] | undefined {
    const { feeds } = this.#round.ledger;
    const all = this.#mine.filter(
      ([feed, post]) =>
        feeds.get(feed.name) === feed && feed.isSettled && post.isSettled && isFit([feed, post]),
    );
    return all.length === 0 ? undefined : this.#pick(all);
  }

  #changeablePart(): readonly [LedgerFeed, Post, string, Part] | undefined {
    const found = this.#changeable(([, { settled, ids }]) =>
      [...settled.keys()].some((slot) => ids.has(slot)),
    );
    if (!found) return undefined;
    const [feed, post] = found;
    const [slot, part] = this.#pick([...post.settled].filter(([one]) => post.ids.has(one)));
    return [feed, post, slot, part];
  }

  #client(feed: LedgerFeed): FeedClient {
    const { password } = feed.settled ?? feed.birth;
    return new FeedClient(this.#round.url, feed.name, password === '' ? {} : { 'x-feed-password': password });
  }

  /** A note unlike all before, half of them with metadata. */
  #freshPart(
    post: Post,
    type: PictureType | undefined,
    { key, expires, name }: { key?: string; expires?: string; name?: string } = {},
  ): FreshPart {
    const version = this.#version();
    const isBare = name === undefined ? this.#isOneOf(2) : name === '';
    const tags = isBare ? [] : [tagOf(post)];
    const title = isBare ? '' : `title ${version}`;
    const headers: Record<string, string> = {
      'content-type': mediaType(type ?? 'md'),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(expires !== undefined && { 'x-note-expires': expires }),
      ...(!isBare && { 'x-note-title': title, 'x-note-tags': tags.join() }),
    };
    const given = {
      title,
      tags,
      ...(key !== undefined && { key }),
      ...(expires !== undefined && { expires }),
    };
    if (type === undefined) {
      const text = this.#text(post, version);
      return {
        slot: TEXT,
        part: { type: 'text/markdown', text, ...given },
        headers,
        body: text,
        what: 'a text',
      };
    }
    const slot = isBare ? '' : name || `${post.number}.${type}`;
    const body = this.#picture(post, version, type);
    const alt = isBare ? undefined : `alt ${version}`;
    if (alt !== undefined) Object.assign(headers, { 'x-note-alt': alt, 'x-note-name': slot });
    const part = { type: mediaType(type), sha256: sha256(body), ...given, ...(alt !== undefined && { alt }) };
    return { slot, part, headers, body, what: `a ${type}` };
  }

  #formParts(post: Post, tags: readonly string[], hasText: boolean, key: string | undefined) {
    const version = this.#version();
    const names = Array.from({ length: 1 + this.#int(MAX_PICTURES) }, (_, n) => `${version}-${n}.png`);
    const parts = new Map<string, Part>();
    const sent: SentPart[] = [];
    if (hasText) {
      const text = `${this.#text(post, version)}\n\n${names.map((name) => `![](${name})`).join('\n')}`;
      parts.set(TEXT, { type: 'text/markdown', text, title: '', tags, ...(key !== undefined && { key }) });
      sent.push(field('text', text));
    }
    for (const name of names) {
      const bytes = this.#picture(post, version, 'png');
      const isNamed = parts.size === 0 && key !== undefined;
      const alt = `alt ${name}`;
      parts.set(name, {
        type: 'image/png',
        sha256: sha256(bytes),
        title: '',
        alt,
        tags,
        ...(isNamed && { key }),
      });
      sent.push(file('file', name, 'image/png', bytes), field(`alt.${name}`, alt));
    }
    return { parts, sent };
  }

  #text({ number }: Post, version: string): string {
    return `${markOf(number)}v${version}\n\n${FILLER.repeat(this.#pick(TEXT_LENGTHS) / FILLER.length)}`;
  }

  #picture({ number }: Post, version: string, type: PictureType): Buffer<ArrayBuffer> {
    const bytes = picture(type, this.#pick(PICTURE_LENGTHS), this.#int(1_000_000));
    bytes.write(`${markOf(number)}v${version}`, MARK_AT);
    return bytes;
  }

  /** No two are the same. */
  #version(): string {
    this.#versions += 1;
    return `${this.#round.number}-${this.#index}-${this.#versions}`;
  }

  #versions = 0;

  #int(end: number): number {
    return Math.floor(this.#random() * end);
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#int(values.length)] as T;
  }

  #isOneOf(count: number): boolean {
    return this.#int(count) === 0;
  }
}

interface FreshPart {
  readonly slot: string;
  readonly part: Part;
  readonly headers: Record<string, string>;
  readonly body: string | Buffer<ArrayBuffer>;
  readonly what: string;
}

/** Behind the signatures of all types of pictures. */
const MARK_AT = 16;

function markOf(number: number): string {
  return `s${number} `;
}

/** The number of the post that made a note, by its bytes; undefined if none did. */
export function numberIn(bytes: Buffer): number | undefined {
  const [, number] =
    /^s(\d+) /.exec(bytes.toString('latin1', 0, 40)) ??
    /^s(\d+) /.exec(bytes.toString('latin1', MARK_AT, MARK_AT + 40)) ??
    [];
  return number === undefined ? undefined : Number(number);
}

function tagOf({ number }: Post): string {
  return `s${number}`;
}

function pictureTypeOf({ type }: Part): PictureType | undefined {
  return PICTURE_TYPES.find((one) => mediaType(one) === type);
}

function inFuture(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

function learn(post: Post, slot: string, { id, file: name }: { id: string; file: string }): void {
  post.ids.set(slot, id);
  post.files.set(slot, name);
}

/** Attachments are answered in the order in which the pictures were sent; without a text the first is the answer itself. */
function learnAttachments(post: Post, parts: Parts, { json }: Reply): void {
  const slots = [...parts.keys()].filter((slot) => slot !== TEXT);
  for (const [n, one] of json.attachments.slice(-slots.length).entries()) learn(post, slots[n]!, one);
}
