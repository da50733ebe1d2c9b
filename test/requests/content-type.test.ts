import t from 'tap';
import { boundaryOf, isTextPartType, postedType } from '../../src/requests/content-type.ts';

const taken: [contentType: string | undefined, type: string][] = [
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
  ['text/plain', 'md'],
  ['Text/Plain; charset=UTF-8', 'md'],
  ['application/x-www-form-urlencoded', 'md'],
  ['application/x-www-form-urlencoded; charset=utf-8', 'md'],
  ['application/octet-stream', 'picture'],
  ['application/octet-stream; a=b', 'picture'],
  [undefined, 'note'],
  ['', 'note'],
  [';', 'note'],
  ['; charset=utf-16', 'note'],
];
for (const [contentType, type] of taken) {
  t.test(`"${contentType}" is ${type}`, async (t) => t.equal(postedType(contentType), type));
}

const refused = [
  'text',
  'text/html',
  'text/plain; charset=iso-8859-1',
  'text/plain, text/plain',
  'application/x-www-form-urlencoded; charset=latin1',
  'text/markdown; charset=iso-8859-1',
  'text/markdown; charset=',
  'text/markdown; charset=utf-16',
  'text/markdown, text/markdown',
  'text/markdownx',
  'image/svg+xml',
  'image/jpg',
  'image/*',
  'image/png, image/gif',
  'constructor',
];
for (const contentType of refused) {
  t.test(`"${contentType}" is 415, and the answer lists what is taken`, async (t) => {
    t.throws(() => postedType(contentType), {
      name: 'Refusal',
      code: 'unsupported_type',
      message:
        /text\/markdown, text\/plain.*octet-stream.*image\/png, image\/jpeg, image\/gif or image\/webp/,
    });
  });
}

const textTypes: [contentType: string | undefined, asField: boolean, asFile: boolean][] = [
  [undefined, true, true],
  ['', true, true],
  ['text/markdown', true, true],
  ['Text/Markdown; charset=UTF-8', true, true],
  ['text/markdown; charset=utf-16', false, false],
  ['application/octet-stream', true, true],
  ['text/plain', true, false],
  ['text/plain; charset=utf-8', true, false],
  ['text/plain; charset=iso-8859-1', false, false],
  ['text/html', false, false],
  ['image/png', false, false],
];
for (const [contentType, asField, asFile] of textTypes) {
  t.test(`a text part of the type "${contentType}"`, async (t) => {
    t.equal(isTextPartType(contentType, false), asField, 'as a field');
    t.equal(isTextPartType(contentType, true), asFile, 'as a file');
  });
}

t.test('a form is told by its media type alone', async (t) => {
  t.equal(postedType('Multipart/Form-Data; boundary=a'), 'form');
  t.equal(postedType('multipart/form-data'), 'form');
  t.throws(() => postedType('multipart/mixed; boundary=a'), { code: 'unsupported_type' });
  t.equal(postedType('text/markdown; a=multipart/form-data'), 'md');
});

const boundaries: [contentType: string, boundary: string][] = [
  ['multipart/form-data; boundary=a', 'a'],
  ['multipart/form-data; charset=utf-8; Boundary="a b"', 'a b'],
  ['multipart/form-data;boundary=----=_Part:1/2', '----=_Part:1/2'],
  [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
  [`multipart/form-data; boundary="'()+_,-./:=?0Az"`, "'()+_,-./:=?0Az"],
];
for (const [contentType, boundary] of boundaries) {
  t.test(`the boundary of ${contentType}`, async (t) => t.equal(boundaryOf(contentType), boundary));
}

const noBoundaries = [
  'multipart/form-data',
  'multipart/form-data; boundary',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=""',
  'multipart/form-data; boundary="a',
  'multipart/form-data; boundary="a "',
  'multipart/form-data; boundary="ä"',
  'multipart/form-data; boundary="a\r\nb"',
  'multipart/form-data; boundary=a; boundary=b',
  'multipart/form-data; boundary=a, multipart/form-data; boundary=b',
  `multipart/form-data; boundary=${'x'.repeat(71)}`,
];
for (const contentType of noBoundaries) {
  t.test(`no boundary: ${contentType}`, async (t) => {
    t.throws(() => boundaryOf(contentType), { name: 'Refusal', code: 'invalid_body' });
  });
}
