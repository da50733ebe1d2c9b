import t from 'tap';
import { noteTypeOf } from '../../src/ingest/content-type.ts';

const taken: [contentType: string, type: string][] = [
  ['text/markdown', 'md'],
  ['Text/Markdown', 'md'],
  [' text/markdown ;', 'md'],
  ['text/markdown; charset=utf-8', 'md'],
  ['text/markdown;charset=UTF-8', 'md'],
  ['text/markdown; charset="utf-8"', 'md'],
  ['text/markdown; Charset=utf8', 'md'],
  ['text/markdown; variant=GFM; charset=utf-8', 'md'],
  ['text/markdown; variant=CommonMark', 'md'],
  ['image/png', 'png'],
  ['IMAGE/JPEG', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp; quality=high', 'webp'],
];
for (const [contentType, type] of taken) {
  t.test(`"${contentType}" is ${type}`, async (t) => t.equal(noteTypeOf(contentType), type));
}

const refused = [
  undefined,
  '',
  ';',
  'text/plain',
  'text/html',
  'text/markdown; charset=iso-8859-1',
  'text/markdown; charset=',
  'text/markdown; charset=utf-16',
  'text/markdown, text/markdown',
  'text/markdownx',
  'image/svg+xml',
  'image/jpg',
  'image/*',
  'image/png, image/gif',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'constructor',
];
for (const contentType of refused) {
  t.test(`"${contentType}" is 415, and the answer lists what is taken`, async (t) => {
    t.throws(() => noteTypeOf(contentType), {
      name: 'Refusal',
      code: 'unsupported_type',
      message: /text\/markdown.*image\/png, image\/jpeg, image\/gif or image\/webp/,
    });
  });
}
