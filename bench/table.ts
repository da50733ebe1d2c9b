import type { Round } from './child.ts';
import { median } from './statistics.ts';

/** The medians of several rounds. */
export function medians(all: readonly Round[]): Round {
  const of = (key: keyof Round) => median(all.map((round) => round[key]));
  return {
    answers: of('answers'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    cpu: of('cpu'),
  };
}

/** What one row says of a round: answers a second, p50, p99, CPU. */
export function columns({ perSecond, p50, p99, cpu }: Round): string[] {
  return [perSecond.toFixed(0), String(p50), String(p99), cpu.toFixed(1)];
}

/** Prints a row. */
export function row(name: string, cells: readonly string[]): void {
  console.log(name.padEnd(52) + cells.map((cell) => cell.padStart(10)).join(''));
}

/** A number of bytes, as people write it. */
export function size(bytes: number): string {
  if (bytes < 10_000) return `${bytes.toFixed(0)} bytes`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
