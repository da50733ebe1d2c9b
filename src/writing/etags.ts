import { hash } from 'node:crypto';
import type { Feed } from '../feeds/feed.ts';
import { dateOfId } from '../feeds/ids.ts';
import type { Note } from '../feeds/note.ts';
import { Refusal } from '../refusals.ts';

/** To be changed when the JSON of a note or of a feed's record gets other members. */
const FORMAT = 2;

/**
 * The ETag of a note's JSON, without quotes: the same in every process, and another one after every change of the note.
 * @param note its date is needed only if its id has none
 */
export function noteEtag(
  { id, type, size, modifiedAt, createdAt, content, meta }: Omit<Note, 'createdAt'> & Partial<Note>,
  { readId }: Pick<Feed, 'readId'>,
): string {
  const { title, alt, name, sender, tags, key, expires, attachedTo, unlisted } = meta;
  const version = content ? undefined : [size, modifiedAt];
  const state = JSON.stringify([
    FORMAT,
    readId,
    id,
    type,
    version,
    title,
    alt,
    name,
    sender,
    tags,
    key,
    expires,
    attachedTo,
    unlisted,
    // Somebody may change it by hand. Other notes keep the ETags that they had.
    ...(dateOfId(id) === undefined ? [createdAt] : []),
  ]);
  // In one call: an object for the hash takes three times as long.
  return hash('sha256', content ? Buffer.concat([Buffer.from(state), content]) : state, 'base64url');
}

/** The ETag of a feed's record, without quotes. */
export function feedEtag(feed: Feed): string {
  const { name, readId, title, description, showSender, listed, image, keepDays, keepNotes, license } = feed;
  const isProtected = feed.passwordHash !== undefined;
  const shown = [title, description, showSender, listed, image];
  const settings = [...shown, keepDays, keepNotes, isProtected, license?.id];
  return hash('sha256', JSON.stringify([FORMAT, name, readId, settings, feed.noteCount > 0]), 'base64url');
}

/**
 * Tells a feed from another one that has its name later, without quotes. Every feed has a read id of its own, so a feed
 * whose read id changes counts as another one.
 */
export function feedIdentity({ readId }: Pick<Feed, 'readId'>): string {
  return hash('sha256', `feed ${readId}`, 'base64url').slice(0, 22);
}

/** @throws Refusal `changed` unless one of the ETags, if any are given, is this one */
export function refuseUnlessMatching(ifMatch: readonly string[] | undefined, etag: () => string): void {
  if (ifMatch !== undefined && !ifMatch.includes(etag()))
    throw new Refusal('changed', 'It was changed meanwhile: read it again, and then decide.');
}
