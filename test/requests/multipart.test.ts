import t from 'tap';
import { MAX_TEXT_BYTES } from '../../src/feeds/limits.ts';
import type { BodyRequest } from '../../src/requests/bodies.ts';
import { readMultipart } from '../../src/requests/multipart.ts';
import {
  BOUNDARY,
  FORM_TYPE,
  field,
  file,
  formBody,
  PiecewiseRequest,
  png,
  RULES,
  read,
  repeated,
  textOf,
} from '../support/multipart.ts';
import { picture } from '../support/pictures.ts';
import { WIRE_FORMS } from '../support/wire-forms.ts';

for (const { client, type, body, text: wanted, name, alt } of WIRE_FORMS) {
  t.test(`what ${client} sends`, async (t) => {
    const { text: found, pictures } = await readMultipart(
      new PiecewiseRequest(Buffer.from(body), [7], type),
      RULES,
    );
    t.equal(textOf(found), wanted);
    t.match(pictures, [{ name, type: 'png', alt }]);
    t.equal(textOf(pictures[0]?.bytes), 'PNG');
  });
}

t.test('what the FormData of this runtime sends', async (t) => {
  const form = new FormData();
  form.append('text', '# Größe');
  form.append('file', new Blob([picture('gif')], { type: 'image/gif' }), 'a"%20\u{1f600}.gif');
  form.append('alt.a"%20\u{1f600}.gif', 'ä');
  const sent = new Response(form);
  const body = new Uint8Array(await sent.arrayBuffer());
  const request = new PiecewiseRequest(body, [100], sent.headers.get('content-type')!);
  const { text: found, pictures } = await readMultipart(request, RULES);
  t.equal(textOf(found), '# Größe');
  t.match(pictures, [{ name: 'a"%20\u{1f600}.gif', type: 'gif', alt: 'ä' }]);
  t.ok(picture('gif').equals(pictures[0]!.bytes));
});

t.test('a text alone, in each form it may have', async (t) => {
  const forms = [
    field('text', 'hi'),
    { header: 'content-disposition: FORM-DATA; name=text', content: 'hi' },
    { header: 'Content-Disposition: form-data; name="text"\r\nContent-Type: text/plain', content: 'hi' },
    { header: 'Content-Disposition: form-data;\r\n\tname="text"\r\nX-Other: a', content: 'hi' },
    { header: "Content-Disposition: form-data; name*=UTF-8''%74ext; name=other", content: 'hi' },
    { header: 'Content-Disposition: form-data; name=text\r\nContent-Transfer-Encoding: 8Bit', content: 'hi' },
    file('text', 'note.md', 'text/markdown', 'hi'),
    file('text', 'note.md', 'text/markdown; charset=utf-8', 'hi'),
    file('text', 'note.md', 'application/octet-stream', 'hi'),
    file('text', 'note.md', undefined, 'hi'),
    file('text', '../any\tname', '', 'hi'),
  ];
  for (const form of forms) {
    const { text: found, pictures } = await read([form]);
    t.equal(textOf(found), 'hi', form.header);
    t.same(pictures, [], form.header);
  }
});

t.test('a text is taken byte for byte', async (t) => {
  for (const exact of [
    '\ufeffa',
    ' a ',
    'a\r\n',
    '\r\n',
    '\na\n',
    'a\r',
    '\r\n-',
    '--',
    `\r\n--${BOUNDARY.slice(1)}`,
    'a\0',
  ]) {
    const { text: found } = await read([field('text', exact), png('a.png')]);
    t.equal(textOf(found), exact);
  }
});

t.test('pictures come in the order in which they arrived, with their alternative texts', async (t) => {
  const { text: found, pictures } = await read([
    field('alt.b.webp', ' before '),
    file('file', 'b.webp', 'image/webp', picture('webp', 1000)),
    file('file', 'a.jpg', 'Image/JPEG; q=1', picture('jpg', 20)),
    field('text', 'hi'),
    png('10', ''),
    field('alt.a.jpg', '\u{1f600}'.repeat(500)),
    file('file', '9', 'image/gif', picture('gif')),
    field('alt.9', ''),
  ]);
  t.equal(textOf(found), 'hi');
  t.same(
    pictures.map(({ name, type, alt, bytes }) => [name, type, alt, bytes.length]),
    [
      ['b.webp', 'webp', 'before', 1000],
      ['a.jpg', 'jpg', '\u{1f600}'.repeat(500), 20],
      ['10', 'png', undefined, 0],
      ['9', 'gif', undefined, 64],
    ],
  );
  t.ok(picture('webp', 1000).equals(pictures[0]!.bytes));
  t.ok(picture('jpg', 20).equals(pictures[1]!.bytes));
});

t.test('file names arrive as they were, however they are sent', async (t) => {
  const names: [sent: string, name: string][] = [
    ['filename="a%22b.png"', 'a"b.png'],
    ['filename="a\\"b.png"', 'a"b.png'],
    ['filename="größe.png"', 'größe.png'],
    ['filename=a.png', 'a.png'],
    ['filename="a%20b%2f%0a.png"', 'a%20b%2f%0a.png'],
    ["filename*=UTF-8''gr%C3%B6%C3%9Fe%20%22.png", 'größe ".png'],
    ["filename*=utf-8'de'a%2522.png", 'a%22.png'],
    ['filename="a.png"; filename*=UTF-8\'\'b.png', 'b.png'],
    ['filename*=UTF-8\'\'b.png; filename="a/a"', 'b.png'],
    ['filename="=?utf-8?B?YQ==?="', '=?utf-8?B?YQ==?='],
    ['filename="a;b=c.png"', 'a;b=c.png'],
  ];
  for (const [sent, name] of names) {
    const header = `Content-Disposition: form-data; name="file"; ${sent}\r\nContent-Type: image/png`;
    t.equal((await read([{ header, content: 'PNG' }])).pictures[0]?.name, name, sent);
  }
});

t.test('the limits themselves are not over the limits', async (t) => {
  const { text: found, pictures } = await read([
    field('text', Buffer.alloc(MAX_TEXT_BYTES, 'a')),
    ...repeated(10, (i) => png(`${i}`, Buffer.alloc(1000))),
    ...repeated(10, (i) => field(`alt.${i}`, 'a'.repeat(500))),
  ]);
  t.equal(found?.length, MAX_TEXT_BYTES);
  t.same(
    pictures.map(({ bytes }) => bytes.length),
    repeated(10, () => 1000),
  );
});

t.test('a blank text may come with pictures', async (t) => {
  t.equal(textOf((await read([field('text', ' \n'), png('a')])).text), ' \n');
});

t.test('what stands before the first boundary and after the last is passed over', async (t) => {
  const body = formBody([field('text', 'a')]);
  const around = Buffer.concat([
    Buffer.from('hello\r\n'),
    body,
    Buffer.from(`--${BOUNDARY}\r\n\r\nb\r\n--${BOUNDARY}--\r\n`),
    Buffer.alloc(150_000, '\r\n--'),
  ]);
  for (const sizes of [[512 * 1024], [1000], [7]])
    t.equal(textOf((await readMultipart(new PiecewiseRequest(around, sizes), RULES)).text), 'a');
});

t.test('the type may name the boundary in quotes', async (t) => {
  const boundary = "a 'b' (c):/=?";
  const request = new PiecewiseRequest(
    formBody([field('text', 'a')], boundary),
    [1],
    `Multipart/Form-Data; charset=utf-8; Boundary="${boundary}"`,
  );
  t.equal(textOf((await readMultipart(request, RULES)).text), 'a');
  t.equal(FORM_TYPE.includes('"'), false, 'the other tests name it without');
});

/** A request whose body comes as `send` says. */
function sentBy(send: (onPiece: (piece: Uint8Array) => void) => Promise<void>): BodyRequest {
  return {
    contentLength: undefined,
    header: () => FORM_TYPE,
    body: async (_limit, onPiece) => {
      await send(onPiece!);
      return new Uint8Array(0);
    },
  };
}

t.test(
  'what arrives in one turn of the event loop is read in turns of 512 KiB, however it is cut',
  async (t) => {
    const bytes = formBody([file('file', 'a.png', 'image/png', new Uint8Array(2 * 1024 * 1024))]);
    for (const size of [100, 700_000, bytes.length]) {
      const body = new Uint8Array(bytes);
      let turns = 0;
      let counting = setImmediate(function count() {
        turns++;
        counting = setImmediate(count);
      });
      const request = sentBy(async (onPiece) => {
        for (let at = 0; at < body.length; at += size) onPiece(body.subarray(at, at + size));
      });
      await readMultipart(request, { ...RULES, maxImageBytes: body.length });
      clearImmediate(counting);
      t.ok(turns >= 4 && turns <= 8, `${turns} turns`);
    }
  },
);

t.test('what ends the body early is thrown, and not what of it is still to be read', async (t) => {
  const gone = new Error('gone');
  const request = sentBy(async (onPiece) => {
    const body = new Uint8Array(formBody([field('other', 'a')]));
    onPiece(body.subarray(0, 5));
    onPiece(body.subarray(5));
    throw gone;
  });
  await t.rejects(readMultipart(request, RULES), gone);
});

t.test('what becomes of the body after a refusal does not matter', async (t) => {
  const { promise, reject } = Promise.withResolvers<void>();
  const body = new Uint8Array(formBody([field('other', 'a')]));
  let send: () => void = () => {};
  const request = sentBy(async (onPiece) => {
    send = () => onPiece(body);
    send();
    await promise;
  });
  await t.rejects(readMultipart(request, RULES), { code: 'invalid_body', message: /"other"/ });
  send();
  reject(new Error('gone'));
  await new Promise(setImmediate);
});
