import { z } from 'zod';

/**
 * The JSON that requests bring, by its name in the API description. Import this only when it is needed: the validator
 * takes 15 MB and a tenth of a second.
 */
export const JSON_BODIES = {
  /** What may be changed of a note beside its bytes; an empty text or array removes. */
  NoteChanges: z.object({
    title: z.string().optional(),
    alt: z.string().optional(),
    tags: z.array(z.string()).optional(),
  }),
  /** What the owner of a feed sets; what may be left out stays as it is. */
  FeedChanges: z.object({
    title: z.string(),
    description: z.string(),
    show_sender: z.boolean().optional(),
    image: z.string().optional(),
    read_id: z.string().optional(),
  }),
  /** The body of `PUT /api/v1/feeds/{feed}/password`. */
  NewPassword: z.object({
    password: z.string().describe('1 to 256 printable ASCII characters, no space at either end.'),
  }),
  /** The body of `POST /api/v1/feeds/{feed}/preview`. */
  PreviewText: z.object({ text: z.string().describe('Markdown of at most 100 KB.') }),
  /** The body of `PUT /api/v1/feeds/{feed}/license`. */
  NewLicense: z.object({
    license: z.string().describe('As it was issued: `nf1.`, and two more parts.'),
  }),
  /** The body of `POST /api/operator/images/move`. */
  MoveImages: z.object({
    from: z.string().describe('Where the bytes are now: `db`, `fs` or `s3`.'),
    dir: z.string().describe('With `fs`: the folder, as the service sees it.').optional(),
    endpoint: z.string().describe('With `s3`: the base URL of the store.').optional(),
    bucket: z.string().describe('With `s3`.').optional(),
    region: z.string().describe('With `s3`: `us-east-1` unless given.').optional(),
    access_key: z.string().describe('With `s3`.').optional(),
    secret_key: z.string().describe('With `s3`.').optional(),
    limit: z.number().describe('Pictures to look at, 1 to 10000; 100 unless given.').optional(),
    after: z.string().describe('The `next` of the answer before.').optional(),
  }),
  /** The body of `POST /api/operator/takedown`. */
  Takedown: z.object({
    read_id: z.string().describe('The read id of the feed.'),
    file: z.string().describe('The file of a note; without it the whole feed is removed.').optional(),
  }),
};

/** The values of each. */
export type JsonBodies = { [N in keyof typeof JSON_BODIES]: z.infer<(typeof JSON_BODIES)[N]> };
export type NoteChanges = JsonBodies['NoteChanges'];
export type FeedChanges = JsonBodies['FeedChanges'];
