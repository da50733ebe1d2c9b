import type fc from 'fast-check';
import type { Reply } from '../support/service.ts';
import { fileOf, type Model, type ModelFeed, type ModelNote, type Outcome, shown } from './model.ts';
import { type ServiceClient, same, undated } from './service-client.ts';
import { NAMES } from './values.ts';

export type Command = fc.AsyncCommand<Model, ServiceClient>;

/** A request, what the model says of it, and what it does to the model when it is taken. */
export interface Step {
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
export function command<T>(title: string, values: T, stepOf: (values: T) => Step): Command {
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

export const JSON_TYPE = { 'content-type': 'application/json' };

/** A request about one note of a feed. */
export function onNote(
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
export function noteAt(feed: ModelFeed | undefined, place: number): ModelNote | undefined {
  const notes = feed?.notes ?? [];
  return place === 9 ? undefined : notes[place % Math.max(notes.length, 1)];
}

/** The password that is sent to a feed that may exist. */
export function passwordOf(feed: ModelFeed | undefined, sent: string): string {
  return sent === 'right' ? (feed?.password ?? '') : sent;
}

export function refusalOf(
  model: Model,
  name: string,
  feed: ModelFeed | undefined,
  sent: string,
): Outcome | undefined {
  return model.refusal(name, passwordOf(feed, sent));
}

/** Changes each note, or (undefined) drops it; a title image that is dropped is one no more. */
export function withNotes(
  model: Model,
  name: string,
  feed: ModelFeed,
  change: (note: ModelNote) => ModelNote | undefined,
): void {
  const notes = feed.notes.map(change).filter((note) => note !== undefined);
  const image = notes.some((note) => fileOf(note) === feed.image) ? feed.image : '';
  model.put(name, { ...feed, notes, image });
}

export function tagged({ notes }: ModelFeed, tag: string | null): ModelNote[] {
  return notes.filter(({ meta }) => tag === null || meta.tags.includes(tag));
}

export function sameNote(json: unknown, note: ModelNote, feed: ModelFeed): void {
  const { file_url: _, url: __, ...found } = undated(json) as Record<string, unknown>;
  same(found, shown(note, feed), 'the note that was answered');
}
