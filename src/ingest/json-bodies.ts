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
};

/** The values of each. */
export type JsonBodies = { [N in keyof typeof JSON_BODIES]: z.infer<(typeof JSON_BODIES)[N]> };
export type NoteChanges = JsonBodies['NoteChanges'];
export type FeedChanges = JsonBodies['FeedChanges'];
