/** The five kinds of notes, by file extension, in the order in which a note id prefers them. */
export const NOTE_TYPES = ['md', 'png', 'jpg', 'gif', 'webp'] as const;

export type NoteType = (typeof NOTE_TYPES)[number];
export type PictureType = Exclude<NoteType, 'md'>;
export const PICTURE_TYPES = NOTE_TYPES.filter((type) => type !== 'md');

const MEDIA_TYPES: Readonly<Record<NoteType, string>> = {
  md: 'text/markdown',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

const NAMES: Readonly<Record<NoteType, string>> = {
  md: 'markdown',
  png: 'PNG',
  jpg: 'JPEG',
  gif: 'GIF',
  webp: 'WebP',
};

/** The name of a type for people. */
export function typeName(type: NoteType): string {
  return NAMES[type];
}

/** The media type of a note, for example `image/png`. */
export function mediaType(type: NoteType): string {
  return MEDIA_TYPES[type];
}

/** The picture type of a media type, or undefined for any other. */
export function pictureType(media: string): PictureType | undefined {
  const found = NOTE_TYPES.find((type) => MEDIA_TYPES[type] === media);
  return found === 'md' ? undefined : found;
}

export function isNoteType(text: string): text is NoteType {
  return (NOTE_TYPES as readonly string[]).includes(text);
}
