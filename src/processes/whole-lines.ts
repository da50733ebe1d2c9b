import type { Readable } from 'node:stream';

/**
 * Passes a process's output on in pieces of whole lines, so that lines of several processes do not mix. A last line without
 * an end is dropped: the process died while it wrote.
 */
export function passLinesOn(output: Readable, write: (lines: string) => void): void {
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) write(rest + text.slice(0, end));
    rest = end > 0 ? text.slice(end) : rest + text;
  });
}
