type Cell = string | number;

/** Control and format characters, which could change the terminal or the order of its text. */
const CONTROLS = /[\p{Cc}\p{Cf}]/gu;

/** Prints an answer: on a terminal for people, elsewhere as the JSON that it is. */
export function show<T>(answer: T, forPeople: (answer: T) => string): void {
  process.stdout.write(`${process.stdout.isTTY ? forPeople(answer) : JSON.stringify(answer)}\n`);
}

/** Says on a terminal what was done; elsewhere the exit code is enough. */
export function sayDone(sentence: string): void {
  if (process.stdout.isTTY) process.stdout.write(`${sentence}\n`);
}

/** Lines of columns under their heads. Numbers are at the right; a text of any width belongs into the last column. */
export function table(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = [heads, ...rows.map((cells) => cells.map(textOf))];
  // A call cannot have as many arguments as there may be lines.
  const widths = heads.map((_, i) => texts.reduce((most, line) => Math.max(most, line[i]!.length), 0));
  return texts
    .map((line) =>
      line
        .map((text, i) =>
          typeof rows[0]?.[i] === 'number' ? text.padStart(widths[i]!) : text.padEnd(widths[i]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** What somebody else wrote, in one line that does nothing to the terminal. */
export function inOneLine(text: string): string {
  return text.replaceAll(CONTROLS, ' ');
}

/** A time of the API as people read it, in UTC: `2026-11-24 09:30`. */
export function shortTime(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

function textOf(cell: Cell): string {
  return typeof cell === 'number' ? cell.toLocaleString('en') : inOneLine(cell);
}
