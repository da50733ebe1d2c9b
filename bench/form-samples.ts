import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
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

/** Writes a form with a text, or none, and that many pictures of one size, and gives its size in bytes. */
export function writeForm(
  file: string,
  text: string | undefined,
  { count, bytes }: { count: number; bytes: number },
): number {
  const parts: Buffer[] = [];
  const add = (disposition: string, type: string, content: string | Buffer) =>
    parts.push(
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\nContent-Type: ${type}\r\n\r\n`,
      ),
      Buffer.from(content),
      Buffer.from('\r\n'),
    );
  if (text !== undefined) add('name="text"; filename="text.md"', 'text/markdown', text);
  for (let n = 0; n < count; n++)
    add(
      `name="file"; filename="${n}.png"`,
      'image/png',
      Buffer.concat([PNG, randomBytes(bytes - PNG.length)]),
    );
  const body = Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
  writeFileSync(file, body);
  return body.length;
}

function filled(piece: string): string {
  return piece.repeat(TEXT_BYTES / piece.length);
}

/** Runs of backticks, each longer by one than the one before, so that none has its like. */
function linesOfBackticks(): string {
  const lines = Array.from({ length: 440 }, (_, n) => `${'`'.repeat(n + 1)}a\n`);
  return lines.join('');
}
