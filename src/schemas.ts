/**
 * The JSON of the API: bodies of requests and of answers. Import its values lazily, because the validator takes 15 MB and
 * 0.1 s.
 */
import { z } from 'zod';
import { MAX_FILES_PER_REQUEST } from './feeds/limits.ts';
import { mediaType, NOTE_TYPES } from './feeds/note-types.ts';
import { REFUSALS, type RefusalCode } from './refusals.ts';

const url = (text: string) => z.url().describe(text);
const text = (description: string) => z.string().describe(description);
const time = (description: string) => z.string().meta({ format: 'date-time', description });
const object = <S extends z.ZodRawShape>(description: string, shape: S) =>
  [z.object(shape), description] as const;
const addressOrNull = (description: string) => z.url().nullable().describe(description);

const expires = (description: string) =>
  text(`${description}: an ISO time such as 2030-01-31T12:00:00Z, or a duration such as 30m, 12h or 7d.`);
const key = text('Names the note within its feed: 1 to 200 printable ASCII characters.');
/** What a feed is to keep; absent members are no limit. */
export const KEEP = z.object({
  days: z.number().describe('Notes older than so many days are removed, 1 to 3650.').optional(),
  notes: z.number().describe('Only so many of the newest notes are kept, 1 to 1000000.').optional(),
});

/** Absent optional members stay as they are. */
const feedChanges = z.object({
  title: text(
    'At most 100 characters in one line, without control and text-direction characters; empty clears it.',
  ),
  description: text('At most 500 characters, as the title.'),
  show_sender: z
    .boolean()
    .describe('Whether readers see who posted a note; left out, it stays as it is.')
    .optional(),
  listed: z
    .boolean()
    .describe('Whether search engines may list the pages of the read link; left out, it stays as it is.')
    .optional(),
  image: text(
    'The file of a picture note of this feed; empty for none; left out, it stays as it is.',
  ).optional(),
  read_id: text(
    'A new read id, 3 to 64 characters of a-z, 0-9, "-" and "_"; empty for a random one; left out, it stays as it ' +
      'is. The old read link ends.',
  ).optional(),
  keep: KEEP.nullable()
    .describe('How long, and how many, notes are kept. Null keeps all; left out, it stays as it is.')
    .optional(),
});

/** The JSON bodies of requests. */
export const JSON_BODIES = {
  /** Other members are ignored. */
  TextNote: z.object({
    content: text('Markdown of at most 100 KB, stored as it is.'),
    title: text('As X-Note-Title.').optional(),
    tags: z.array(z.string()).describe('As X-Note-Tags.').optional(),
    key: key.optional(),
    expires: expires('When the note goes away').optional(),
  }),
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
    expires: expires('When the note goes away; empty for never').optional(),
  }),
  FeedChanges: feedChanges,
  FeedPatch: feedChanges.partial(),
  NewPassword: z.object({
    password: text('1 to 256 printable ASCII characters, no space at either end.'),
  }),
  PreviewText: z.object({ text: text('Markdown of at most 100 KB.') }),
  NewLicense: z.object({
    license: text('The license as it was issued: `nf1.` and two more parts.'),
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
    target: text(
      'A read link, or the address of the page or the file of a note below it, also without the host. Either this or `read_id`.',
    ).optional(),
    read_id: text('The read id of the feed.').optional(),
    file: text('With `read_id`: the file of a note; without it the whole feed is removed.').optional(),
    block: z
      .boolean()
      .describe(
        'Whether to block what is removed: the name and the read link of a feed, or the bytes of a picture. A text is not blocked.',
      )
      .optional(),
  }),
};

const createdSchema = z.object({
  id: text('Names the note within its feed: the time it was posted and a UUID.'),
  url: url('Where the note is replaced, changed and deleted. Holds the name of the feed, which is its key.'),
  feed_url: url('The feed by its name.'),
  read_url: addressOrNull(
    'The RSS feed, for everybody who may read: no password, and the name is not in it. Null if the feed has no read link.',
  ),
  file: text('The file of the note, `<id>.<ext>`.'),
  file_url: addressOrNull('The file for everybody who may read. Null if the feed has no read link.'),
});

export const noteSchema = z.object({
  id: text('Names the note within its feed.'),
  type: z.enum(NOTE_TYPES.map(mediaType)).describe('The media type of the file.'),
  file: text('The file of the note, `<id>.<ext>`.'),
  file_url: addressOrNull(
    'The file for everybody who may read, byte for byte. Null if the feed has no read link.',
  ),
  size: z.int().nonnegative().describe('Size of the file in bytes.'),
  title: text(
    'The title set; else the first heading or line of a markdown text, in plain text, or the alternative text or name ' +
      'of a picture; else empty. At most 100 characters.',
  ),
  content: text('The markdown exactly as posted. Only for markdown.').optional(),
  alt: text('Alternative text of a picture, if it has one.').optional(),
  name: text('Original file name of a picture, if it has one.').optional(),
  created_at: time('When the note was posted, in UTC.'),
  url: url(
    'The page of the note, by the name of its feed, or by the read id if the request was by the read id.',
  ),
  sender: text('Who posted it, if that is known and the feed shows it.').optional(),
  tags: z.array(z.string()).describe('Its tags; empty if it has none.'),
  key: key
    .describe('Its key, if it has one. Only in answers to requests by the name of the feed.')
    .optional(),
  attached_to: text(
    'The id of the text that the picture was posted with, as long as that text shows it. Pages and feeds then show the picture in the text only.',
  ).optional(),
  unlisted: z
    .literal(true)
    .describe('The note is in lists only: pages and feeds do not show it. Otherwise absent.')
    .optional(),
  expires_at: time(
    'When the note expires: from then on it is in no answer. Absent if it does not expire.',
  ).optional(),
  match: z
    .object({
      text: text(
        'A piece of what was searched, in plain text, around the first match: at most 200 UTF-16 units.',
      ),
      marks: z
        .array(z.tuple([z.int().nonnegative(), z.int().positive()]))
        .describe('The matches in the piece: the start and the end (exclusive) of each, in UTF-16 units.'),
    })
    .describe('Where a search found it; only with `q`.')
    .optional(),
});

const attachmentsSchema = z
  .array(createdSchema)
  .describe('The pictures that came with it, in their order. Only for `multipart/form-data`.')
  .optional();

const noteFormSchema = z
  .object({
    text: text(
      'The markdown, stored byte for byte except for the names of pictures. At most one.',
    ).optional(),
    file: z
      .array(z.string().meta({ format: 'binary' }))
      .max(MAX_FILES_PER_REQUEST)
      .describe('Pictures, each with a file name of its own.')
      .optional(),
  })
  .catchall(text('`alt.<file name>`: the alternative text of the picture of that name.'));

const count = (description: string) => z.int().nonnegative().describe(description);
const amount = (description: string) =>
  z.object({ count: z.int().nonnegative(), bytes: z.int().nonnegative() }).describe(description);

const nextPage = z
  .string()
  .nullable()
  .describe('The value of `after` for the next page; null if this is the last page.');

/** What bodies look like, by their name in the API description, each with a sentence about it. */
const SCHEMAS = {
  Created: [createdSchema, 'A note that has been stored.'],
  Posted: [
    createdSchema.extend({ attachments: attachmentsSchema }),
    'What has been stored: the text, or the first picture if there is no text.',
  ],
  Replaced: [noteSchema.extend({ attachments: attachmentsSchema }), 'A note that has been replaced.'],
  NoteForm: [noteFormSchema, 'A text with its pictures: at least one of the two.'],
  Note: [noteSchema, 'A note.'],
  NoteList: object('A page of notes.', {
    notes: z.array(noteSchema).describe('Newest first.'),
    next: z
      .string()
      .nullable()
      .describe('The value of `before` for the next page, opaque; null if this is the last page.'),
  }),
  TagList: object('The tags of a feed.', {
    tags: z
      .array(z.object({ tag: z.string(), count: count('How many notes have it.') }))
      .describe('Tags with the most notes first, then by name; at most 1,000.'),
  }),
  Feed: object('A feed as its owner sees it.', {
    name: text('The name of the feed: its write key, to be kept secret.'),
    title: text('Empty if none is set.'),
    description: text('Empty if none is set.'),
    show_sender: z.boolean().describe('Readers see who posted a note.'),
    listed: z.boolean().describe('Search engines may list the pages of the read link.'),
    image_url: addressOrNull(
      'The address of the title image; null if the feed has no title image, no notes or no read link.',
    ),
    protected: z.boolean().describe('The feed has a password of its own.'),
    read_url: addressOrNull(
      'The RSS feed, for everybody who may read; null if the feed has no notes or no read link.',
    ),
    license: z
      .object({ until: text('Its last day, a UTC date.') })
      .nullable()
      .describe(
        'The license of the feed; null in the free tier. Absent if feeds of this instance need no license.',
      )
      .optional(),
    keep: KEEP.nullable().describe('How long, and how many, notes are kept; null if all are.'),
  }),
  ReadFeed: object('A feed, for everybody who may read it.', {
    title: text('Empty if none is set.'),
    description: text('Empty if none is set.'),
    image_url: addressOrNull('The address of the title image; null if the feed has none.'),
  }),
  JsonFeed: object('A JSON Feed 1.1, https://www.jsonfeed.org/version/1.1/', {
    version: z.literal('https://jsonfeed.org/version/1.1'),
    title: text('The title of the feed, or of the service.'),
    home_page_url: url('The feed as a page to read.'),
    feed_url: url('This document.'),
    description: z.string().optional(),
    icon: z.url().optional(),
    hubs: z.array(z.object({ type: z.literal('WebSub'), url: z.url() })).optional(),
    items: z.array(
      z.object({
        id: text('A URN that stays the same.'),
        url: z.url(),
        title: z.string().optional(),
        content_html: text('Safe HTML; addresses are absolute.'),
        content_text: text(
          'The markdown as posted, with references to pictures of the feed absolute.',
        ).optional(),
        image: z.url().optional(),
        date_published: z.string().meta({ format: 'date-time' }),
        authors: z.array(z.object({ name: z.string() })).optional(),
        tags: z.array(z.string()).optional(),
        attachments: z
          .array(
            z.object({
              url: z.url(),
              mime_type: z.string(),
              title: z.string().optional(),
              size_in_bytes: z.int().nonnegative(),
            }),
          )
          .optional(),
      }),
    ),
  }),
  Imported: object('What became of the files of a zip.', {
    imported: count('Notes that were stored.'),
    skipped: count('Notes that are there already, or that have expired.'),
    refused: z
      .array(
        z.object({
          file: text('Its name in the zip.'),
          error: text('Why, in a sentence.'),
          code: z.enum(Object.keys(REFUSALS) as RefusalCode[]),
        }),
      )
      .describe('The files that were refused; the first 1,000 of them.'),
    refused_count: count('How many files were refused.'),
  }),
  FeedChanges: [JSON_BODIES.FeedChanges, 'Settings of a feed. Title and description are replaced together.'],
  FeedPatch: [JSON_BODIES.FeedPatch, 'Settings of a feed to change: at least one of them.'],
  TextNote: [JSON_BODIES.TextNote, 'A markdown note. Other members are ignored.'],
  NoteChanges: [JSON_BODIES.NoteChanges, 'What to change of a note: at least one of them.'],
  NewLicense: [JSON_BODIES.NewLicense, 'A license to be attached.'],
  NewPassword: [JSON_BODIES.NewPassword, 'The new password of a feed.'],
  MoveImages: [JSON_BODIES.MoveImages, 'Where pictures are to be moved from.'],
  MovedImages: object('Result of a move.', {
    store: z.enum(['db', 'fs', 's3']).describe('The store of the settings.'),
    from: z.enum(['db', 'fs', 's3']),
    moved: amount('Pictures whose bytes are now in the store of the settings.'),
    skipped: count('Pictures that were there already, or changed meanwhile.'),
    missing: count('Pictures whose bytes are in neither place.'),
    failed: count('Pictures that a store refused: send the request again.'),
    left: count('Pictures still to look at.'),
    next: z
      .string()
      .nullable()
      .describe('The value of `after` for the next request; null when nothing is left.'),
  }),
  Unreferenced: object('How an image store and the notes differ.', {
    store: z.enum(['fs', 's3']).describe('The store of the settings.'),
    unreferenced: amount('Objects older than an hour that no note refers to.'),
    deleted: amount('Those that were removed.').optional(),
    failed: count('How many the store refused to remove.').optional(),
    too_recent: count('Objects of the last hour that no note refers to.'),
    missing: count('Pictures whose object is missing in the store.'),
  }),
  Takedown: [JSON_BODIES.Takedown, 'The note or feed to remove.'],
  Stats: object('What the instance holds.', {
    version: text('The version of the service.'),
    storage: z.enum(['fs', 'sqlite', 'postgres']),
    images: z.enum(['db', 'fs', 's3']).describe('Where the bytes of pictures are.'),
    feeds: count('All feeds.'),
    notes: count('All notes, pictures included.'),
    pictures: count('How many of the notes are pictures.'),
    bytes: count('Bytes of all notes, without their metadata.'),
  }),
  OperatedFeeds: object('A page of all feeds.', {
    feeds: z.array(
      z.object({
        name: text('Its name: the key to write to it.'),
        read_id: z.string().nullable().describe('Null if it has no read link.'),
        title: text('Empty if none is set.'),
        notes: count('All its notes, pictures included.'),
        pictures: count('How many of its notes are pictures.'),
        bytes: count('Bytes of its notes.'),
        changed_at: time('Its last change, in UTC.'),
        protected: z.boolean().describe('It has a password.'),
        blocked: z.boolean().describe('The operator has closed it.'),
        license: z
          .object({ until: text('Its last day, a UTC date.') })
          .nullable()
          .describe('Null in the free tier. Absent if feeds of this instance need no license.')
          .optional(),
      }),
    ),
    next: nextPage,
  }),
  Blocks: object('A page of what the operator has closed.', {
    blocks: z
      .array(
        z.object({
          kind: z.enum(['name', 'link', 'picture']),
          key: text('The name of a feed, its read id, or the SHA-256 of a picture in base64url.'),
          target: text(
            'The path of what was taken down; absent for a name that was closed as such.',
          ).optional(),
          at: time('When, in UTC.'),
        }),
      )
      .describe('Names, then links, then pictures.'),
    next: nextPage,
  }),
  Reports: object('A page of the reports that are open.', {
    reports: z
      .array(
        z.object({
          id: z.string(),
          target: url('What is reported; a takedown takes it as it is.'),
          reason: text('In the words of who reported it, at most 2,000 characters.'),
          contact: text('How to reach them; absent if they did not say.').optional(),
          at: time('When, in UTC.'),
        }),
      )
      .describe('The oldest first.'),
    next: nextPage,
  }),
  TakenDown: object('What was removed.', { removed: count('How many notes were removed.') }),
  PreviewText: [JSON_BODIES.PreviewText, 'A text to be rendered.'],
  Preview: object('A text, rendered as the page of a note shows it.', {
    html: text(
      'Safe HTML with absolute addresses, as the pages show it; addresses of pictures are those of the feed.',
    ),
  }),
  Health: object('The process.', { status: text('`ok`.'), version: text('The version of the service.') }),
  Status: object('Status of the service.', { status: text('For example `ready`.') }),
  OpenApi: [z.looseObject({ openapi: z.string() }), 'An OpenAPI document.'],
  Error: object('Why a request was refused.', {
    error: text('One sentence for people. It may change.'),
    code: z.enum(Object.keys(REFUSALS) as RefusalCode[]).describe('For programs. It does not change.'),
  }),
} as const satisfies Readonly<Record<string, readonly [z.ZodType, string]>>;

export type JsonBodies = { [N in keyof typeof JSON_BODIES]: z.infer<(typeof JSON_BODIES)[N]> };
export type SchemaName = keyof typeof SCHEMAS;
/** The body of an answer. */
export type Json<N extends SchemaName> = Frozen<z.input<(typeof SCHEMAS)[N][0]>>;
type Frozen<T> = { readonly [K in keyof T]: Frozen<T[K]> };

/** One schema as JSON Schema 2020-12, with all that it refers to in it. */
export function schemaOf(name: SchemaName): object {
  return z.toJSONSchema(SCHEMAS[name][0], { io: 'input' });
}

/** Every schema as JSON Schema 2020-12, by name; they refer to each other as OpenAPI's components do. */
export function jsonSchemas(): Record<string, object> {
  const registry = z.registry<{ id: string; description: string }>();
  for (const [id, [schema, description]] of Object.entries(SCHEMAS))
    registry.add(schema, { id, description });
  // As input: members that a later version adds must not make an answer invalid for older clients.
  const { schemas } = z.toJSONSchema(registry, { uri: componentOf, io: 'input' });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema, $id, ...schema }]) => [name, schema]),
  );
}

export function componentOf(name: string): string {
  return `#/components/schemas/${name}`;
}
