import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { FeedName, NoteFile, NoteId, ReadId } from './names.ts';

/** A timestamp, and the UUID behind it if that is all that follows. */
const DATED_ID =
  /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:-([0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})$)?/;
const VERSION_7 = /^.{14}7.{4}[89ab]/i;
/** The counter fills the 12 bits that RFC 9562 calls `rand_a`. */
const COUNTER_END = 0x1000;

/**
 * Makes the ids of new notes: `YYYYMMDDTHHMMSSZ-<uuid v7>` (RFC 9562, section 6.2, method 1).
 *
 * Each id sorts after the one before. If the clock stalls or goes back, the counter increments; if the counter overflows, the
 * time advances 1 ms.
 */
export class NoteIds {
  readonly #clock: () => number;
  #time = 0;
  #counter = 0;
  #second = -1;
  #prefix = '';

  /** `clock` gives whole milliseconds since the epoch. */
  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** A new id; its prefix and its UUID have the same time. */
  next(): NoteId {
    this.#advance();
    const time = this.#time.toString(16).padStart(12, '0');
    const counter = this.#counter.toString(16).padStart(3, '0');
    // The end of a version 4 UUID, as version 7 needs it: the variant and 62 random bits.
    const tail = randomUUID().slice(19);
    return `${this.#compactTime()}-${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${tail}` as NoteId;
  }

  /** Cached per second, because formatting a date costs more than the rest. */
  #compactTime(): string {
    const second = Math.floor(this.#time / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#prefix = compact(this.#time);
    }
    return this.#prefix;
  }

  #advance(): void {
    const now = this.#clock();
    this.#counter += 1;
    if (now > this.#time) {
      this.#time = now;
      this.#counter = 0;
    } else if (this.#counter === COUNTER_END) {
      this.#time += 1;
      this.#counter = 0;
    }
  }
}

/**
 * The date in an id, in ms since the epoch: the time of a version 7 UUID in the same second as the prefix, else the prefix of
 * any UUID. Undefined for other ids and for a date that does not exist, such as month 13.
 */
export function dateOfId(id: string): number | undefined {
  const parts = parse(id);
  return parts?.uuid === undefined ? undefined : (agreeingTime(parts) ?? parts.prefix);
}

/** The date that an id begins with, whatever follows, in ms since the epoch; undefined for a date that does not exist. */
export function datePrefixOfId(id: string): number | undefined {
  return parse(id)?.prefix;
}

/** Whether the service made this id: a lower-case version 7 UUID in the same second as the prefix. */
export function isServiceId(id: string): boolean {
  const parts = parse(id);
  return parts !== undefined && agreeingTime(parts) !== undefined && parts.uuid === parts.uuid?.toLowerCase();
}

/** The UUID of an id of the form `<timestamp>-<uuid>`, in lower case; undefined for any other id. */
export function uuidOfId(id: string): string | undefined {
  return DATED_ID.exec(id)?.[7]?.toLowerCase();
}

interface IdParts {
  /** Time of the prefix, ms since the epoch. */
  readonly prefix: number;
  readonly uuid: string | undefined;
}

type SixNumbers = [number, number, number, number, number, number];

function parse(id: string): IdParts | undefined {
  const match = DATED_ID.exec(id);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as SixNumbers;
  const date = new Date(0);
  const midnight = date.setUTCFullYear(year, month - 1, day);
  // 30 February has become 2 March.
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || hour > 23 || minute > 59 || second > 59) return undefined;
  return { prefix: midnight + ((hour * 60 + minute) * 60 + second) * 1000, uuid: match[7] };
}

function agreeingTime({ prefix, uuid }: IdParts): number | undefined {
  if (uuid === undefined || !VERSION_7.test(uuid)) return undefined;
  const time = Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
  return time >= prefix && time < prefix + 1000 ? time : undefined;
}

/** `YYYYMMDDTHHMMSSZ` of a time. */
function compact(time: number): string {
  const iso = new Date(time).toISOString();
  return `${iso.slice(0, 4)}${iso.slice(5, 7)}${iso.slice(8, 13)}${iso.slice(14, 16)}${iso.slice(17, 19)}Z`;
}

/** The namespace of this service's name-based UUIDs; never change it, because readers would take every note for new. */
const NAMESPACE = Buffer.from('1b0c1f7a-0a35-4a51-9d2c-7c3b5c8e6f42'.replaceAll('-', ''), 'hex');

/**
 * The guid of a note in feeds: `urn:uuid:` of its id's UUID, else of a name-based one of read id and id.
 * @param id or the file, of a note whose id another note has, too
 */
export function noteGuid(readId: ReadId, id: NoteId | NoteFile): string {
  return `urn:uuid:${uuidOfId(id) ?? nameBasedUuid(`${readId}/${id}`)}`;
}

/** A version 5 UUID (RFC 9562, section 5.5). */
function nameBasedUuid(name: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest();
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A new read id: 128 random bits as 22 characters of base64url. */
export function randomReadId(): ReadId {
  return randomBytes(16).toString('base64url') as ReadId;
}

/** In place of a read id in a feed without a read link: unlike any other, and in no address, because it is malformed. */
export function noReadId(): ReadId {
  return `!${randomReadId()}` as ReadId;
}

/** Whether a read id is the name of its feed. Only reserved feeds have such a read id, and they get it back after a deletion. */
export function isReservedReadId(readId: ReadId, name: FeedName): boolean {
  return (readId as string) === name;
}

/** How read ids are derived from the secret. A data folder that came from the reference keeps `reference`. */
export const DERIVATIONS = ['own', 'reference'] as const;
export type Derivation = (typeof DERIVATIONS)[number];

export function isDerivation(text: string): text is Derivation {
  return (DERIVATIONS as readonly string[]).includes(text);
}

/** The read id of a feed without a stored one: 22 characters derived from its name and the server secret. */
export function derivedReadId(secret: Uint8Array, name: FeedName, derivation: Derivation = 'own'): ReadId {
  const text = derivation === 'own' ? `read-id:${name}` : name;
  const digest = createHmac('sha256', secret).update(text).digest('base64url');
  return digest.slice(0, 22) as ReadId;
}

declare const brand: unique symbol;

/** The name of a picture's bytes in an image store: 32 lower-case hexadecimal characters. Never in a log or an answer. */
export type ImageKey = string & { readonly [brand]: 'ImageKey' };

export function isImageKey(text: string): text is ImageKey {
  return /^[0-9a-f]{32}$/.test(text);
}

/** A new key: 128 random bits. */
export function newImageKey(): ImageKey {
  return randomBytes(16).toString('hex') as ImageKey;
}
