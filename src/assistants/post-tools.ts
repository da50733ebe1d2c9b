import type { z } from 'zod';
import { tagsOf } from '../feeds/tags.ts';
import { ALT_LENGTH, oneLine, pictureName } from '../feeds/text.ts';
import { TITLE_LENGTH } from '../feeds/title.ts';
import { attachment, type Submission } from '../ingest/submission.ts';
import { createdNote } from '../read/views/note-json.ts';
import { Refusal } from '../refusals.ts';
import { pictureTypeOf } from '../requests/content-type.ts';
import { Form } from '../requests/multipart.ts';
import type { OpenPart } from '../requests/multipart-parser.ts';
import type { PartHeader } from '../requests/part-header.ts';
import { submissionOf } from '../requests/submission.ts';
import { refusePicture } from '../storage/refused-writes.ts';
import type { NoteMeta } from '../storage/storage.ts';
import { ARGUMENTS } from './arguments.ts';
import { fromBase64 } from './base64.ts';
import { called } from './caller.ts';
import { type ToolCaller, type ToolParts, tool } from './tool.ts';

type PostNote = z.infer<typeof ARGUMENTS.post_note>;
type PostFile = z.infer<typeof ARGUMENTS.post_file>;

const POSTS = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };

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
    input: ARGUMENTS.post_note,
    result: 'Posted',
    hints: POSTS,
    run: (parts, input, call) => posted(parts, input, call, () => noteOf(input, parts)),
  }),
  tool({
    name: 'post_file',
    title: 'Post a picture',
    description:
      'Posts a picture to a feed as a note of its own: PNG, JPEG, GIF or WebP of at most 5 MiB, unless the instance says ' +
      'otherwise. It is stored and served byte for byte, with what its file says of place and time. It is public at once, ' +
      'as a text is; for pictures that belong to a text use post_note with attachments. The first note makes the feed.',
    input: ARGUMENTS.post_file,
    result: 'Created',
    hints: POSTS,
    run: (parts, input, call) => posted(parts, input, call, () => pictureOf(input, parts)),
  }),
];

/** @param submit makes the notes; called once the caller has been let in */
async function posted(
  { access, posting, limits }: ToolParts,
  input: PostFile | PostNote,
  { caller, base }: ToolCaller,
  submit: () => Submission,
): Promise<object> {
  const owner = called(caller, input);
  const { name, feed } = await access.poster(owner, input.feed);
  const readId = ('read_id' in input && input.read_id) || '';
  if (feed === undefined) posting.admitReadId(name, readId);
  const stored = await posting.post({ name, feed }, { submission: submit(), limits, readId }, owner);
  const place = { base, readId: stored.feed.readId, name };
  const attachments = stored.attachments?.map((note) => createdNote(note, place));
  return { ...createdNote(stored.note, place), ...(attachments && { attachments }) };
}

/** With pictures the text is as one that came in a form, held against the same rules. */
function noteOf(input: PostNote, parts: ToolParts): Submission {
  const meta = titleAndTags(input);
  const text = encoder.encode(input.markdown);
  if (input.attachments === undefined)
    return { text: { type: 'md', meta, bytes: text }, pictures: [], isForm: false };
  const form = new Form(parts);
  addPart(form, { name: 'text' }, () => text);
  for (const { name, type, data, alt } of input.attachments) {
    const field = `${attachment(name)} data`;
    addPart(form, { name: 'file', fileName: name, type }, (part) => fromBase64(data, { ...part, field }));
    if (alt !== undefined) addPart(form, { name: `alt.${name}` }, () => encoder.encode(alt));
  }
  return submissionOf(form.finish(), meta, { tags: meta.tags });
}

function pictureOf(input: PostFile, { limits, maxImageBytes }: ToolParts): Submission {
  const type = pictureTypeOf(input.type);
  if (type === undefined)
    throw new Refusal('unsupported_type', 'type must be image/png, image/jpeg, image/gif or image/webp.');
  refusePicture(type, limits);
  const meta: NoteMeta = {
    ...titleAndTags(input),
    alt: oneLine('alt', input.alt ?? '', ALT_LENGTH) || undefined,
    name: pictureName(input.name ?? '') || undefined,
  };
  const tooLarge = () => new Refusal('too_large', `A picture may have at most ${maxImageBytes} bytes.`);
  const bytes = fromBase64(input.data, { field: 'data', limit: maxImageBytes, tooLarge });
  return { text: undefined, pictures: [{ type, meta, bytes }], isForm: false };
}

function titleAndTags({ title = '', tags = [] }: PostFile | PostNote): Pick<NoteMeta, 'title' | 'tags'> {
  return { title: oneLine('title', title, TITLE_LENGTH) || undefined, tags: tagsOf('tags', tags) };
}

function addPart(form: Form, header: Partial<PartHeader>, content: (part: OpenPart) => Uint8Array): void {
  const part = form.begin({ name: '', fileName: undefined, type: undefined, ...header });
  const bytes = content(part);
  if (bytes.length > part.limit) throw part.tooLarge();
  part.complete(bytes);
}

const encoder = new TextEncoder();
