import { z } from 'zod';

const text = (description: string) => z.string().describe(description);

const FEED = {
  feed: text(
    'The name of the feed: 1 to 64 characters of a-z, 0-9, "-" and "_". It is a secret key: whoever knows it can ' +
      'write to the feed. Use the one that the user gave you, and never put it into a note.',
  ),
  password: text(
    'The password of the feed, if it has one. With the first note of a new feed it becomes its password.',
  ).optional(),
};

const id = text('The id of the note, as in the answers of post_note and list_notes.');
const title = text('One line of at most 100 characters; without it, the first heading or line is shown.');
const tags = z
  .array(z.string())
  .describe('At most 10, each 1 to 32 characters of a-z, 0-9, "-", "_", "." and ":".');
const data = text('The bytes of the picture in base64.');
const pictureType = text('image/png, image/jpeg, image/gif or image/webp.');
const alt = text('What the picture shows, for those who cannot see it: one line of at most 500 characters.');

/** The arguments of each tool. Only types are checked here; what breaks a rule is refused as in the API. */
export const ARGUMENTS = {
  post_note: z.object({
    ...FEED,
    markdown: text('The text of the note in markdown, at most 100 KB. It must not be blank.'),
    title: title.optional(),
    tags: tags.optional(),
    read_id: text(
      'A read id for a feed that this note makes: 3 to 64 characters of a-z, 0-9, "-" and "_", other than the name of ' +
        'the feed. It is part of the public read link. Ignored where the feed exists; leave it out for a random one.',
    ).optional(),
    attachments: z
      .array(
        z.object({
          name: text('A file name such as chart.png, another one for each picture.'),
          type: pictureType,
          data,
          alt: alt.optional(),
        }),
      )
      .describe(
        'At most 10 pictures. The markdown shows one by its name, as in ![A chart](chart.png); one that it does not ' +
          'show is added at the end.',
      )
      .optional(),
  }),
  post_file: z.object({
    ...FEED,
    type: pictureType,
    data,
    title: title.optional(),
    alt: alt.optional(),
    name: text('The file name that the picture had, at most 200 characters.').optional(),
    tags: tags.optional(),
  }),
  list_notes: z.object({
    ...FEED,
    limit: z
      .number()
      .describe('How many notes at most: a whole number from 1 to 100, 20 if left out.')
      .optional(),
    before: text(
      'The `next` of the list before this, or the id of a note: older notes than that.',
    ).optional(),
    tag: text('Only notes with this tag.').optional(),
  }),
  get_note: z.object({ ...FEED, id }),
  edit_note: z.object({
    ...FEED,
    id,
    markdown: text(
      'The new text in place of the old one, at most 100 KB. Only for a note in markdown.',
    ).optional(),
    title: text('The new title; empty removes it.').optional(),
    alt: text('The new alternative text of a picture; empty removes it.').optional(),
  }),
  delete_note: z.object({ ...FEED, id }),
  get_feed: z.object(FEED),
  update_feed: z.object({
    ...FEED,
    title: text('At most 100 characters in one line; empty clears it.').optional(),
    description: text('At most 500 characters in one line; empty clears it.').optional(),
    image: text(
      'The `file` of a picture note of this feed, to be its title image; empty for none.',
    ).optional(),
    read_id: text(
      'A new read id, 3 to 64 characters of a-z, 0-9, "-" and "_"; empty for a random one. The old read link ends.',
    ).optional(),
    show_sender: z.boolean().describe('Whether readers see who posted a note.').optional(),
  }),
  delete_feed: z.object(FEED),
};
