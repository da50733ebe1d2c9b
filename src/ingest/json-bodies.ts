import { z } from 'zod';

const text = (description: string) => z.string().describe(description);

/**
 * The JSON bodies of requests, by their name in the API description. Import this lazily, because the validator takes
 * 15 MB and 0.1 s.
 */
export const JSON_BODIES = {
  /** An empty text or array removes. */
  NoteChanges: z.object({
    title: text('At most 100 characters in one line; empty removes it.').optional(),
    alt: text(
      'Alternative text of a picture, at most 500 characters in one line; empty removes it.',
    ).optional(),
    tags: z
      .array(z.string())
      .describe('The tags, as in X-Note-Tags; an empty array removes them.')
      .optional(),
  }),
  /** Absent optional members stay as they are. */
  FeedChanges: z.object({
    title: text(
      'At most 100 characters in one line, without control and text-direction characters; empty clears it.',
    ),
    description: text('At most 500 characters, as the title.'),
    show_sender: z
      .boolean()
      .describe('Whether readers see who posted a note; left out, it stays as it is.')
      .optional(),
    image: text(
      'The file of a picture note of this feed; empty for none; left out, it stays as it is.',
    ).optional(),
    read_id: text(
      'A new read id, 3 to 64 characters of a-z, 0-9, "-" and "_"; empty for a random one; left out, it stays as it ' +
        'is. The old read link ends.',
    ).optional(),
  }),
  NewPassword: z.object({
    password: text('1 to 256 printable ASCII characters, no space at either end.'),
  }),
  PreviewText: z.object({ text: text('Markdown of at most 100 KB.') }),
  NewLicense: z.object({
    license: text('As it was issued: `nf1.`, and two more parts.'),
  }),
  MoveImages: z.object({
    from: text('Where the bytes are now: `db`, `fs` or `s3`.'),
    dir: text('With `fs`: the folder, as the service sees it.').optional(),
    endpoint: text('With `s3`: the base URL of the store.').optional(),
    bucket: text('With `s3`.').optional(),
    region: text('With `s3`: `us-east-1` unless given.').optional(),
    access_key: text('With `s3`.').optional(),
    secret_key: text('With `s3`.').optional(),
    limit: z.number().describe('Pictures to look at, 1 to 10000; 100 unless given.').optional(),
    after: text('The `next` of the answer before.').optional(),
  }),
  Takedown: z.object({
    read_id: text('The read id of the feed.'),
    file: text('The file of a note; without it the whole feed is removed.').optional(),
  }),
};

export type JsonBodies = { [N in keyof typeof JSON_BODIES]: z.infer<(typeof JSON_BODIES)[N]> };
export type NoteChanges = JsonBodies['NoteChanges'];
export type FeedChanges = JsonBodies['FeedChanges'];
