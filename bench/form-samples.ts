import { randomBytes } from 'node:crypto';
import { PNG } from './samples.ts';

const BOUNDARY = '----bench-form';

/** The content type of the forms. */
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** A little less than the 100 KB a text may have: with its picture at the end it is stored. */
const TEXT_BYTES = 99 * 1024;

/** Texts that take parsers of markdown long, or much memory. */
export const SLOW_TEXTS: Readonly<Record<string, string>> = {
  'nested quotes': '>'.repeat(TEXT_BYTES),
  'nested lists': '- '.repeat(TEXT_BYTES / 2),
  'list and lazy lines': `- a\n${'b\n'.repeat(TEXT_BYTES / 2 - 2)}`,
  'nested brackets': '['.repeat(TEXT_BYTES / 2) + ']'.repeat(TEXT_BYTES / 2),
  'open images': filled('![a]('),
  backticks: linesOfBackticks(),
  emphasis: filled('_a*'),
  definitions: Array.from({ length: 6000 }, (_, n) => `[${n}]: /${n}\n`).join(''),
  'wide table': `|${'a|'.repeat(20_000)}\n|${'-|'.repeat(20_000)}\n`,
  'long table': `|a|b|\n|-|-|\n${filled('|x|y|\n')}`.slice(0, TEXT_BYTES),
};

/** Pictures of one size. */
interface Pictures {
  readonly count: number;
  readonly bytes: number;
}

const FULL: Pictures = { count: 10, bytes: 5 * 1024 * 1024 };
const SMALL: Pictures = { count: 10, bytes: 1024 };

/** Forms that are large, or made to cost much where they are taken apart. */
export const HOSTILE_FORMS: Readonly<Record<string, () => Buffer>> = {
  'ten pictures of 5 MiB': () => formOf('A text.', FULL),
  '50 MB without a boundary': () => randomBytes(50e6),
  '50,000 empty parts': () => joined(Array.from({ length: 50_000 }, () => part('name="a"', ''))),
  'almost boundaries': () => joined([onePicture(filling(`\r\n--${BOUNDARY.slice(0, -1)}`))]),
  'ends of lines': () => joined([onePicture(filling('\r\n'))]),
  'endless headers': () => Buffer.from(`--${BOUNDARY}\r\n${'X-A: b\r\n'.repeat(500_000)}`),
  'one endless header': () => Buffer.from(`--${BOUNDARY}\r\nX-A: ${'b'.repeat(5e6)}`),
  '9,000 references': () => formOf(filled('![](0.png)'), SMALL),
};

/** A form with a text, or none, and pictures. */
export function formOf(text: string | undefined, { count, bytes }: Pictures): Buffer {
  const parts = Array.from({ length: count }, (_, n) => onePicture(randomBytes(bytes - PNG.length), n));
  if (text !== undefined) parts.unshift(part('name="text"; filename="text.md"', text, 'text/markdown'));
  return joined(parts);
}

function onePicture(rest: Buffer, n = 0): Buffer {
  return part(`name="file"; filename="${n}.png"`, Buffer.concat([PNG, rest]), 'image/png');
}

function part(disposition: string, content: string | Buffer, type = 'text/plain'): Buffer {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\nContent-Type: ${type}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')]);
}

function joined(parts: readonly Buffer[]): Buffer {
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

/** As much as one picture may hold. */
function filling(piece: string): Buffer {
  return Buffer.alloc(FULL.bytes - PNG.length, piece);
}

function filled(piece: string): string {
  return piece.repeat(TEXT_BYTES / piece.length);
}

/** Runs of backticks, each longer by one than the one before, so that none has its like. */
function linesOfBackticks(): string {
  const lines = Array.from({ length: 440 }, (_, n) => `${'`'.repeat(n + 1)}a\n`);
  return lines.join('');
}
