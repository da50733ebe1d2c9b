/** Multipart bodies of any bytes, in any pieces: what is read is what was sent, or a refusal. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { Refusal } from '../../src/refusals.ts';
import { type Multipart, readMultipart, type SubmissionRules } from '../../src/requests/multipart.ts';
import {
  BOUNDARY,
  FORM_TYPE,
  field,
  file,
  formBody,
  PiecewiseRequest,
  type SentPart,
} from '../support/multipart.ts';
import { NO_LIMITS } from '../support/storing.ts';
import { WIRE_FORMS } from '../support/wire-forms.ts';

const RULES: SubmissionRules = { maxImageBytes: 4_000, limits: NO_LIMITS };

/** What became of a body, to be compared. */
async function outcome(body: Uint8Array, sizes?: readonly number[], type = FORM_TYPE): Promise<unknown> {
  try {
    return comparable(await readMultipart(new PiecewiseRequest(body, sizes, type), RULES));
  } catch (cause) {
    if (!(cause instanceof Refusal) || cause.status >= 500) throw cause;
    return `${cause.code} ${cause.message}`;
  }
}

function comparable({ text, pictures }: Multipart): unknown {
  return {
    text: hex(text),
    pictures: pictures.map(({ bytes, ...rest }) => ({ ...rest, bytes: hex(bytes) })),
  };
}

function hex(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString('hex');
}

const SAMPLE = formBody([
  field('text', '# Größe\r\n\r\n![a](a.png)\r\n-'),
  file('file', 'a.png', 'image/png', `\x89PNG\r\n\r\n--${BOUNDARY.slice(0, -1)}\r`),
  file('file', 'b.gif', 'image/gif', ''),
  field('alt.a.png', 'ä'),
]);

for (const [name, body, type] of [
  ['a sample', SAMPLE, FORM_TYPE] as const,
  ...WIRE_FORMS.map(({ client, body, type }) => [`what ${client} sends`, Buffer.from(body), type] as const),
]) {
  t.test(`${name}, cut off after any byte, is refused`, async (t) => {
    const whole = await outcome(body, [body.length], type);
    t.type(whole, 'object', 'the whole is not');
    const close = body.lastIndexOf('--') + '--'.length;
    const wrong = [];
    for (let length = 0; length < body.length; length++) {
      const found = await outcome(body.subarray(0, length), [body.length], type);
      const wanted = length < close ? 'invalid_body The multipart body ends too early.' : whole;
      if (!isDeepStrictEqual(found, wanted)) wrong.push([length, found]);
    }
    t.same(wrong, []);
  });

  t.test(`${name}, in pieces of any size, reads the same`, async (t) => {
    const whole = await outcome(body, [body.length], type);
    const wrong = [];
    for (let size = 1; size < body.length; size++) {
      const found = await outcome(body, [size], type);
      if (!isDeepStrictEqual(found, whole)) wrong.push([size, found]);
    }
    t.same(wrong, []);
  });
}

/** Bytes that look like what a parser of multipart looks for. */
const alike = fc
  .array(
    fc.oneof(
      fc.constantFrom('\r', '\n', '\r\n', '-', '--', `\r\n--${BOUNDARY.slice(0, -1)}`, BOUNDARY, '\r\n\r\n'),
      fc.string({ maxLength: 5 }),
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join('').replaceAll(`\r\n--${BOUNDARY}`, ''))
  // Taking a delimiter out may have put another together, also with the line end before the content.
  .filter((content) => !`\r\n${content}`.includes(`\r\n--${BOUNDARY}`));
const content = fc.oneof(alike, fc.uint8Array({ maxLength: 300 }));
const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 });

t.test('headers may lie across what is parsed at once', async (t) => {
  const SLICE = 64 * 1024;
  const part = (size: number, name: number) => file('file', `${name}.png`, 'image/png', new Uint8Array(size));
  const overhead = formBody([part(0, 0)]).length - formBody([]).length;
  // Each header but the first lies across the end of a slice.
  const sizes = [SLICE - overhead - 20, SLICE - overhead, SLICE - overhead];
  const request = new PiecewiseRequest(formBody(sizes.map(part)));
  const { pictures } = await readMultipart(request, { ...RULES, maxImageBytes: SLICE });
  t.same(
    pictures.map(({ bytes }) => bytes.length),
    sizes,
  );
});

t.test('what is sent is what is read, in any pieces', async () => {
  const pictures = fc.uniqueArray(
    fc.record({
      name: fc.stringMatching(/^[a-z]{1,3}$/),
      bytes: content,
      alt: fc.option(fc.stringMatching(/^[a-z]{1,9}$/)),
    }),
    { maxLength: 10, selector: ({ name }) => name },
  );
  await fc.assert(
    fc.asyncProperty(alike, pictures, fc.boolean(), sizes, async (text, sent, altsFirst, pieces) => {
      const alts = sent.flatMap(({ name, alt }) => (alt === null ? [] : [field(`alt.${name}`, alt)]));
      const files = sent.map(({ name, bytes }) => file('file', name, 'image/png', bytes));
      const parts = altsFirst ? [...alts, ...files] : [...files, ...alts];
      const body = formBody([...parts, field('text', `a${text}`)]);
      const { text: read, pictures: found } = await readMultipart(new PiecewiseRequest(body, pieces), RULES);
      return (
        hex(read) === hex(Buffer.from(`a${text}`)) &&
        found.length === sent.length &&
        sent.every(({ name, bytes, alt }, i) => {
          const picture = found[i]!;
          return (
            picture.name === name &&
            picture.alt === (alt ?? undefined) &&
            hex(picture.bytes) === hex(Buffer.from(bytes as string))
          );
        })
      );
    }),
  );
});

/** Parts that break rules now and then. */
const anyPart: fc.Arbitrary<SentPart> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('text', 'alt.a', 'alt.b', 'file', 'x'), content)
      .map(([name, bytes]) => field(name, bytes)),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom('text', 'file'),
        fc.constantFrom('a', 'b', 'a%22', '..', ''),
        fc.constantFrom('image/png', 'text/markdown', undefined),
        content,
      )
      .map(([name, fileName, type, bytes]) => file(name, fileName, type, bytes)),
  },
  { weight: 1, arbitrary: fc.record({ header: alike, content: alike }) },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.constantFrom(
          'form-data',
          ';',
          ' ',
          'name=',
          '"',
          'text',
          'file',
          'filename',
          '*=',
          "UTF-8''",
          '%C3',
          '\\',
          '\r\n ',
          '\r\nContent-Type: ',
          'image/png',
          'é',
          '\0',
        ),
        { maxLength: 30 },
      )
      .map((pieces) => ({ header: `Content-Disposition: ${pieces.join('')}`, content: 'a' })),
  },
);
const change = fc.record({
  at: fc.nat(),
  removed: fc.nat({ max: 40 }),
  added: fc.oneof(
    alike,
    fc.uint8Array({ maxLength: 10 }),
    fc.constantFrom(`\r\n--${BOUNDARY}`, `\r\n--${BOUNDARY}--`),
  ),
});

/** Without the sentence of a refusal: of garbage at a delimiter the parser says now that it ends, now that a part has no header. */
function readOrCode(outcome: unknown): unknown {
  return typeof outcome === 'string' ? outcome.split(' ')[0] : outcome;
}

/**
 * A boundary with one dash, and another one. Dicer passes over the first, unless the body was cut behind the dash: then
 * it refuses it. No program sends that.
 */
const ONE_DASH = `--${BOUNDARY}-\r\n--${BOUNDARY}`;

t.test('any body is read or refused, and the same in any pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyPart, { maxLength: 5 }),
      fc.array(change, { maxLength: 4 }),
      sizes,
      async (parts, changes, pieces) => {
        let body = formBody(parts);
        for (const { at, removed, added } of changes) {
          const start = at % (body.length + 1);
          body = Buffer.concat([
            body.subarray(0, start),
            Buffer.from(added as string),
            body.subarray(start + removed),
          ]);
        }
        fc.pre(!body.includes(ONE_DASH));
        const whole = readOrCode(await outcome(body, [body.length || 1]));
        return isDeepStrictEqual(readOrCode(await outcome(body, pieces)), whole);
      },
    ),
    { numRuns: 500 },
  );
});
