import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { eventually } from './eventually.ts';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** An event as either format tells it. */
export interface ToldEvent {
  readonly event: string;
  readonly id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member of a note
  readonly note?: any;
}

let clients = 0;

/** A stream of notes and what came of it, read as its content type says. Each is a client of its own where the service trusts its proxy. */
export class NoteStream {
  readonly response: IncomingMessage;
  readonly events: ToldEvent[] = [];
  text = '';
  isEnded = false;
  /** What a client says it has when it comes again: the last `id` of an event stream, or of a line about a new note. */
  lastId: string | undefined;
  #rest = '';
  readonly #request: ClientRequest;

  private constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent;
    this.response = response;
    const areLines = response.headers['content-type'] === 'application/x-ndjson';
    response.setEncoding('utf8').on('data', (piece: string) => {
      this.text += piece;
      const parts = (this.#rest + piece).split(areLines ? '\n' : '\n\n');
      this.#rest = parts.pop()!;
      for (const part of parts)
        if (areLines) this.#line(part);
        else this.#event(part);
    });
    response.on('close', () => {
      this.isEnded = true;
    });
    response.on('error', () => {});
  }

  /** Settles when the first bytes are there, so the place of an event stream is known; closed when the test ends. */
  static async open(t: Scope, url: string, headers: Record<string, string> = {}): Promise<NoteStream> {
    clients += 1;
    const client = `10.9.${(clients >> 8) & 255}.${clients & 255}`;
    const sent = request(url, { agent: false, headers: { 'x-forwarded-for': client, ...headers } });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject).end();
    });
    const stream = new NoteStream(sent, response);
    await new Promise((resolve) => response.once('data', resolve).once('close', resolve));
    t.teardown(() => stream.close());
    return stream;
  }

  /** The ids that came with events of that name, in their order. */
  ids(event = 'note'): string[] {
    return this.events.filter((one) => one.event === event).map(({ id }) => id!);
  }

  /** Waits until so many events are there, of all names if none is given. */
  async hears(count: number, event?: string): Promise<boolean> {
    return eventually(() => this.events.filter((one) => !event || one.event === event).length >= count);
  }

  async ends(): Promise<boolean> {
    return eventually(() => this.isEnded);
  }

  close(): void {
    this.#request.destroy();
  }

  #line(line: string): void {
    if (line === '') return;
    const told: ToldEvent = JSON.parse(line);
    this.events.push(told);
    if (told.event === 'note') this.lastId = told.id;
  }

  #event(part: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1];
    const [event, id, data] = [field('event'), field('id'), field('data')];
    this.lastId = id ?? this.lastId;
    if (event === undefined) return;
    const told = JSON.parse(data!);
    const isNote = event === 'note' || event === 'edited';
    this.events.push({ event, ...(isNote ? { id: told.id, note: told } : told) });
  }
}
