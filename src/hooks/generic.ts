import { type HookKind, type HookNote, tagsOf, titled } from './hook.ts';
import { asParagraphs, asText, bareLink, blocks, codeBlock } from './markdown.ts';

/** Members that hold the text, the first that is there. */
const TEXTS = ['message', 'text', 'body'];

/** Any JSON: members with usual names make a note; without them all of it is shown as code. */
export const generic: HookKind = {
  answer: 'id',
  notes: (payload) => [genericNote(payload)],
};

function genericNote(payload: unknown): HookNote {
  const members = Object(payload) as Readonly<Record<string, unknown>>;
  const textIn = (name: string) => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    return typeof value === 'string' || typeof value === 'number' ? String(value).trim().toWellFormed() : '';
  };
  const title = textIn('title');
  const text = TEXTS.map(textIn).find((found) => found !== '') ?? '';
  const url = textIn('url');
  const status = textIn('status');
  const tags = tagsOf('generic', status);
  const rest = blocks(
    asParagraphs(text),
    status === '' ? '' : `Status: ${asText(status)}`,
    bareLink(url) || asText(url),
  );
  if (title === '' && text === '')
    return { markdown: codeBlock(JSON.stringify(payload, undefined, 2)), tags };
  return rest === '' ? { markdown: asText(title), tags } : { title: titled(title), markdown: rest, tags };
}
