import { createHash } from 'node:crypto';
import { uuidOfId } from './ids.ts';
import type { NoteId, ReadId } from './names.ts';

/** The namespace of this service's name-based UUIDs; never change it, because readers would take every note for new. */
const NAMESPACE = Buffer.from('1b0c1f7a-0a35-4a51-9d2c-7c3b5c8e6f42'.replaceAll('-', ''), 'hex');

/** The guid of a note in feeds: `urn:uuid:` of its id's UUID, else of a name-based one of read id and id. */
export function noteGuid(readId: ReadId, id: NoteId): string {
  return `urn:uuid:${uuidOfId(id) ?? nameBasedUuid(`${readId}/${id}`)}`;
}

/** A version 5 UUID (RFC 9562, section 5.5). */
function nameBasedUuid(name: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest();
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
