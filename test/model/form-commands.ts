/** Commands that send a text with pictures as a form. */
import fc from 'fast-check';
import { readIdIn } from '../support/feed-client.ts';
import { FORM_TYPE, field, file, formBody, type SentPart } from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { command, noteAt, onNote, passwordOf, refusalOf, sameNote, withNotes } from './command.ts';
import { MEDIA, type Meta, type ModelFeed, type ModelNote, type Outcome, type Type } from './model.ts';
import { same } from './service-client.ts';
import { line, NEW_FEED, NO_META, name, password, place, seed, sent, size, tags, text } from './values.ts';

interface FormPicture {
  readonly type: Exclude<Type, 'md'>;
  readonly size: number;
  readonly seed: number;
  readonly alt: string;
  /** The text refers to it. */
  readonly isShown: boolean;
}

const pictures = fc.array(
  fc.record({
    type: fc.constantFrom('png', 'jpg', 'gif', 'webp'),
    size,
    seed,
    alt: line,
    isShown: fc.boolean(),
  }),
  { maxLength: 3 },
);

export const postForm = fc
  .record({ name, text: fc.option(text, { freq: 4 }), pictures, title: line, tags, sent, password })
  .map((values) =>
    command('post form', values, ({ name, text, pictures, title, tags, sent, password }) => {
      const passwordFor = (feed: ModelFeed | undefined) =>
        feed === undefined ? password : passwordOf(feed, sent);
      const extended = title !== '' && { 'x-note-title*': `UTF-8''${encodeURIComponent(title)}` };
      return {
        name,
        send: (service, feed) =>
          service.askAbout(name, passwordFor(feed), '/notes', {
            method: 'POST',
            ...formOf(text, pictures, { ...extended, ...tagHeader(tags) }),
          }),
        expect(_, feed): Outcome {
          const wanted = feed?.password ?? '';
          if (wanted !== '' && passwordFor(feed) !== wanted) return '401 auth';
          if (text === null && pictures.length === 0) return '400 invalid_body';
          return feed !== undefined && wanted === '' && passwordFor(feed) !== '' ? '409 feed_exists' : 201;
        },
        taken(model, { json }, feed) {
          const files = namesOf(json.attachments);
          const ofPictures: Meta = { ...NO_META, tags, title: text === null ? title : '' };
          const added = stored(pictures, files, ofPictures, text === null ? undefined : json.id);
          if (text !== null) {
            const meta = { ...NO_META, tags, title };
            added.unshift({ id: json.id, type: 'md', bytes: placed(text, pictures, files), meta });
          } else same(json.id, added.at(-1)?.id, 'the note of a form without a text');
          const readId = readIdIn(json.read_url);
          const { notes, ...others } = feed ?? { ...NEW_FEED, readId, password: passwordFor(undefined) };
          model.put(name, { ...others, notes: [...added, ...notes] });
        },
      };
    }),
  );

export const replaceByForm = fc.record({ name, place, text, pictures, tags, sent }).map((values) =>
  command('replace by form', values, ({ name, place, text, pictures, tags, sent }) => ({
    ...onNote(name, place, sent, 'PUT', () => formOf(text, pictures, tagHeader(tags))),
    expect(model, feed) {
      const refusal = refusalOf(model, name, feed, sent);
      const note = noteAt(feed, place);
      if (refusal !== undefined) return refusal;
      if (note === undefined) return '404 not_found';
      return note.type === 'md' ? 200 : '415 unsupported_type';
    },
    async taken(model, { json: { attachments, ...json } }, feed, service) {
      const files = namesOf(attachments);
      const note = { ...noteAt(feed, place)!, bytes: placed(text, pictures, files) };
      const added = stored(pictures, files, { ...NO_META, tags }, note.id);
      withNotes(model, name, feed!, (old) => (old.id === note.id ? note : old));
      const changed = model.feeds.get(name)!;
      model.put(name, { ...changed, notes: [...added, ...changed.notes] });
      sameNote(json, note, feed!);
      for (const one of [note, ...added]) await service.checkFile(feed!.readId, one);
    },
  })),
);

function formOf(text: string | null, pictures: readonly FormPicture[], headers: object): RequestInit {
  const parts: SentPart[] = pictures.flatMap((one, i) => {
    const name = nameOf(one, i);
    const alt = one.alt === '' ? [] : [field(`alt.${name}`, one.alt)];
    return [...alt, file('file', name, MEDIA[one.type], bytesOf(one))];
  });
  if (text !== null) parts.push(field('text', textWith(text, pictures, pictures.map(nameOf))));
  return { headers: { 'content-type': FORM_TYPE, ...headers }, body: formBody(parts) };
}

/** The text as it must be stored: the pictures it refers to under their new names, the others added. */
function placed(
  text: string,
  pictures: readonly FormPicture[],
  files: readonly string[],
): Buffer<ArrayBuffer> {
  const others = files.filter((_, i) => !pictures[i]!.isShown).map((file) => `\n\n![](${file})`);
  return Buffer.from(textWith(text, pictures, files) + others.join(''));
}

/** Whatever the text ends with, the references behind it are paragraphs of their own. */
function textWith(text: string, pictures: readonly FormPicture[], names: readonly string[]): string {
  const shown = names.filter((_, i) => pictures[i]!.isShown);
  return [text, ...shown.map((name) => `![a](<${name}>)`), 'The end.'].join('\n\n');
}

/** The notes that pictures must become, newest first. */
function stored(
  pictures: readonly FormPicture[],
  files: readonly string[],
  meta: Meta,
  attachedTo: string | undefined,
): ModelNote[] {
  same(files.length, pictures.length, 'the number of attachments');
  return pictures
    .map((one, i) => ({
      id: files[i]!.replace(`.${one.type}`, ''),
      type: one.type,
      bytes: bytesOf(one),
      meta: { ...meta, alt: one.alt, name: nameOf(one, i) },
      ...(attachedTo !== undefined && { attachedTo }),
    }))
    .reverse();
}

function bytesOf({ type, size, seed }: FormPicture): Buffer<ArrayBuffer> {
  return picture(type, size, seed);
}

function nameOf({ type }: FormPicture, i: number): string {
  return `größe ${i}.${type}`;
}

function namesOf(attachments: readonly { file: string }[]): string[] {
  return attachments.map(({ file }) => file);
}

function tagHeader(tags: readonly string[]): object {
  return tags.length > 0 ? { 'x-note-tags': tags.join() } : {};
}
