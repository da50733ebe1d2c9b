import { isServiceId } from '../../feeds/ids.ts';
import { type NoteFile, type NoteId, noteFile, parseNoteFile } from '../../feeds/names.ts';
import { NOTE_TYPES } from '../../feeds/note-types.ts';

/** The file of a note as the index has it: short for ids that the service made, because there are many. */
export type PackedFile = Buffer | string;

const UUID_AT = 'YYYYMMDDTHHMMSSZ-'.length;
const UUID_BYTES = 16;

/** The bytes of its UUID, which has the time in it, and those of the type; any other file as it is. */
export function packFile(file: NoteFile): PackedFile {
  const { id = '', type = 'md' } = parseNoteFile(file) ?? {};
  if (!isServiceId(id)) return file;
  const packed = Buffer.from(`${id.slice(UUID_AT).replaceAll('-', '')}00`, 'hex');
  packed[UUID_BYTES] = NOTE_TYPES.indexOf(type);
  return type === 'md' ? packed.subarray(0, UUID_BYTES) : packed;
}

export function unpackFile(packed: PackedFile): NoteFile {
  if (typeof packed === 'string') return packed as NoteFile;
  const hex = packed.toString('hex', 0, UUID_BYTES);
  const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  // As `NoteIds` writes it: the second that the UUID is of.
  const [second] = new Date(packed.readUIntBE(0, 6)).toISOString().replace(/[-:]/g, '').split('.');
  return noteFile(`${second}Z-${uuid}` as NoteId, NOTE_TYPES[packed[UUID_BYTES] ?? 0]!);
}
