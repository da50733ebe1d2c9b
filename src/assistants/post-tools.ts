import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { noteKey } from '../feeds/keeping.ts';
import { noteLimit, noteTooLarge } from '../feeds/limits.ts';
import { TAGS_RULE } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, pictureName, refuseAlt } from '../feeds/text.ts';
import { attachment, type Submission } from '../ingest/submission.ts';
import { createdNote } from '../read/views/note-json.ts';
import { Refusal } from '../refusals.ts';
import { noteTypeOf } from '../requests/content-type.ts';
import { Form } from '../requests/multipart.ts';
import type { OpenPart, PartHeader } from '../requests/multipart-parser.ts';
import { ownMembers, submissionOf, submissionOfNote } from '../requests/read-submission.ts';
import { refusePicture } from '../writing/limits.ts';
import {
  content,
  EXPIRES,
  FEED,
  limitedText,
  option,
  type ToolCaller,
  type ToolParts,
  text,
  tool,
} from './tool.ts';

const LABELS = {
  title: option('One line of at most 100 characters; without it, the first heading or line is shown.'),
  tags: z.array(limitedText).describe(`Of them ${TAGS_RULE}.`).optional(),
  key: option(
    'Names the note within its feed: 1 to 200 printable ASCII characters, such as a random id. Give one if you may have to ' +
      'repeat the call because you got no answer: a call with the same key and contents stores nothing twice and answers as ' +
      'the first did.',
  ),
  expires: EXPIRES,
};
const PICTURE = {
  type: text('image/png, image/jpeg, image/gif or image/webp.'),
  data: content('The bytes of the picture in base64.'),
  alt: option('What the picture shows, for those who cannot see it: one line of at most 500 characters.'),
};

const POST_NOTE = z.object({
  ...FEED,
  markdown: content('The text of the note in markdown, at most 100 KB. It must not be blank.'),
  ...LABELS,
  read_id: option(
    'A read id for a feed that this note makes: 3 to 64 characters of a-z, 0-9, "-" and "_", other than the name of ' +
      'the feed. It is part of the public read link. Ignored where the feed exists; leave it out for a random one.',
  ),
  attachments: z
    .array(
      z.object({ name: text('A file name such as chart.png, another one for each picture.'), ...PICTURE }),
    )
    .describe(
      'At most 10 pictures. The markdown shows one by its name, as in ![A chart](chart.png); one that it does not ' +
        'show is added at the end.',
    )
    .optional(),
});

const POST_FILE = z.object({
  ...FEED,
  type: text('image/png, image/jpeg, image/gif, image/webp or text/markdown.'),
  data: content('The bytes of the file in base64.'),
  alt: PICTURE.alt,
  ...LABELS,
  name: option('The file name that the picture had, at most 200 characters. A text keeps none.'),
});

type PostNote = z.infer<typeof POST_NOTE>;
type PostFile = z.infer<typeof POST_FILE>;

/** The tools that post. */
export const POST_TOOLS = [
  tool({
    name: 'post_note',
    title: 'Post a note',
    description:
      'Posts a markdown note to a feed, with pictures if there are any: all of it is stored, or nothing. The first note ' +
      'makes the feed, so check the name with the user before you post to a new one. The note is public at once to ' +
      'everybody who has the read link of the feed: post only what the user wants to be read there. Answers with the ' +
      'addresses of the note; `read_url` is the RSS feed, which can be given to anybody; `url` and `feed_url` hold the ' +
      'secret name of the feed, so give them to the user alone.',
    input: POST_NOTE,
    result: 'Posted',
    effect: 'adds',
    run: (parts, input, call) => post(parts, input, call, () => noteOf(input, parts)),
  }),
  tool({
    name: 'post_file',
    title: 'Post a file',
    description:
      'Posts a file to a feed as a note of its own: a picture (PNG, JPEG, GIF or WebP of at most 5 MiB, unless the ' +
      'instance says otherwise) or a markdown text in UTF-8. It is stored and served byte for byte, with what the file of a ' +
      'picture says of place and time. It is public at once; for pictures that belong to a text use post_note with ' +
      'attachments. The first note makes the feed.',
    input: POST_FILE,
    result: 'Created',
    effect: 'adds',
    run: (parts, input, call) => post(parts, input, call, async () => fileOf(input, parts)),
  }),
];

/** @param submit creates the notes; called after the caller was admitted */
async function post(
  { access, posting }: ToolParts,
  input: PostFile | PostNote,
  { caller, base }: ToolCaller,
  submit: () => Promise<Submission>,
): Promise<object> {
  const named = await access.requirePoster(caller, input.feed);
  const admitted = posting.admit(named, ('read_id' in input && input.read_id) || '');
  const key = input.key === undefined ? undefined : noteKey(input.key);
  const submission = { ...(await submit()), key };
  const stored = await access.change(caller, named.feed, () => posting.post(admitted, submission, caller));
  const place = { base, readId: stored.feed.readId, name: named.name };
  const attachments = stored.attachments?.map((note) => createdNote(note, place));
  return { ...createdNote(stored.note, place), ...(attachments && { attachments }) };
}

/** With pictures, the note is checked like a multipart form. */
async function noteOf(input: PostNote, parts: ToolParts): Promise<Submission> {
  const { title, ...ofAll } = ownMembers(input);
  const meta = { title, ...ofAll };
  const bytes = encoder.encode(input.markdown);
  if (input.attachments === undefined)
    return { text: { type: 'md', meta, bytes }, pictures: [], isForm: false };
  const form = new Form(parts);
  addPart(form, { name: 'text' }, () => bytes);
  for (const { name, type, data, alt } of input.attachments) {
    const field = `${attachment(name)} data`;
    // Decoding the largest picture takes 30 ms.
    await nextTurn();
    addPart(form, { name: 'file', fileName: name, type }, (part) => fromBase64(data, { ...part, field }));
    if (alt !== undefined) addPart(form, { name: `alt.${name}` }, () => encoder.encode(alt));
  }
  return submissionOf(form.finish(), meta, ofAll);
}

function fileOf(input: PostFile, { limits, maxImageBytes }: ToolParts): Submission {
  const type = noteTypeOf(input.type);
  if (type === undefined)
    throw new Refusal(
      'unsupported_type',
      'type must be image/png, image/jpeg, image/gif, image/webp or text/markdown.',
    );
  refusePicture(type, limits);
  const alt = oneLine('alt', input.alt ?? '', ALT_LENGTH) || undefined;
  const name = pictureName(input.name ?? '') || undefined;
  const limit = noteLimit(type, maxImageBytes);
  const bytes = fromBase64(input.data, { field: 'data', limit, tooLarge: () => noteTooLarge(type, limit) });
  refuseAlt(type, alt);
  return submissionOfNote(
    { type, meta: { ...ownMembers(input), ...(type !== 'md' && { alt, name }) } },
    bytes,
  );
}

function addPart(form: Form, header: Partial<PartHeader>, bytesOf: (part: OpenPart) => Uint8Array): void {
  const part = form.begin({ name: '', fileName: undefined, type: undefined, ...header });
  const bytes = bytesOf(part);
  if (bytes.length > part.limit) throw part.tooLarge();
  part.complete(bytes);
}

const encoder = new TextEncoder();

/** Of either alphabet (RFC 4648), with line breaks or other white space. */
const BASE64 = /^[\w+/\s-]*(?:=\s*){0,2}$/;

/** Decodes base64, which may contain white space. Throws a Refusal `invalid_body`; what `tooLarge` returns. */
function fromBase64(
  encoded: string,
  { field, limit, tooLarge }: { field: string } & Pick<OpenPart, 'limit' | 'tooLarge'>,
): Buffer {
  // With line breaks it is 1.4 times as long as the bytes. Looking through more takes time.
  if (encoded.length > 1.5 * limit + 1_000) throw tooLarge();
  // The decoder skips white space, and invalid characters.
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length > limit) throw tooLarge();
  if (!BASE64.test(encoded)) throw new Refusal('invalid_body', `${field} must be bytes in base64.`);
  return bytes;
}
