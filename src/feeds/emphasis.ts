/** Escapes, and runs of the marks of code spans and emphasis. */
const MARKS = /\\[\s\S]|`+|\*+|_+/g;
const SPACE = /^\s?$/u;
const PUNCTUATION = /^[\p{P}\p{S}]$/u;

/** A run of equal marks in a line. */
interface Run {
  readonly mark: string;
  readonly start: number;
  readonly length: number;
}

/** A run of emphasis marks, while it is being paired with others. */
interface Delimiter extends Run {
  readonly opens: boolean;
  readonly closes: boolean;
  /** How many of its marks belong to no pair yet. */
  left: number;
}

/**
 * A line of markdown without its emphasis marks: those of `*`, `**`, `_` and `__` that have a partner. All others
 * stay, as in `2 * 3`, `snake_case` and in code spans.
 *
 * Follows CommonMark 0.31, section 6.2, without its rule of three. Linear in the length of the line.
 */
export function withoutEmphasis(line: string): string {
  const delimiters = emphasisRuns(line).map((run) => delimiter(line, run));
  pair(delimiters);
  let text = '';
  let from = 0;
  for (const { start, length, left } of delimiters) {
    text += line.slice(from, start) + line.slice(start, start + left);
    from = start + length;
  }
  return text + line.slice(from);
}

/** The runs of `*` and `_` outside code spans and escapes. */
function emphasisRuns(line: string): Run[] {
  const runs = [...line.matchAll(MARKS)].map(({ 0: { length }, index }) => {
    return { mark: line.charAt(index), start: index, length };
  });
  const lastTicks = new Map(runs.map((run, i) => [tickLength(run), i]));
  const found: Run[] = [];
  for (let i = 0; i < runs.length; i += 1) {
    const run = runs[i] as Run;
    const ticks = tickLength(run);
    if (run.mark === '*' || run.mark === '_') found.push(run);
    // Only a code span that is closed is skipped, so that no run is looked at twice.
    else if (ticks > 0 && (lastTicks.get(ticks) ?? i) > i) {
      do i += 1;
      while (tickLength(runs[i] as Run) !== ticks);
    }
  }
  return found;
}

/** How many backticks a run has; 0 for a run of anything else. */
function tickLength(run: Run): number {
  return run.mark === '`' ? run.length : 0;
}

function delimiter(line: string, run: Run): Delimiter {
  const before = characterBefore(line, run.start);
  const after = characterAt(line, run.start + run.length);
  const leftFlanking = flanks(after, before);
  const rightFlanking = flanks(before, after);
  // An underscore inside a word is part of it.
  const inWord = run.mark === '_' && leftFlanking && rightFlanking;
  return {
    ...run,
    opens: leftFlanking && (!inWord || PUNCTUATION.test(before)),
    closes: rightFlanking && (!inWord || PUNCTUATION.test(after)),
    left: run.length,
  };
}

/** Whether a run leans on the character `near`, with `far` on its other side. */
function flanks(near: string, far: string): boolean {
  if (SPACE.test(near)) return false;
  return !PUNCTUATION.test(near) || SPACE.test(far) || PUNCTUATION.test(far);
}

/** Takes from each closing run and the open runs before it the marks that belong together. */
function pair(delimiters: readonly Delimiter[]): void {
  const open: Record<string, Delimiter[]> = { '*': [], _: [] };
  for (const run of delimiters) {
    const openers = open[run.mark] as Delimiter[];
    while (run.closes && run.left > 0 && openers.length > 0) {
      const opener = openers.at(-1) as Delimiter;
      const taken = Math.min(opener.left, run.left);
      opener.left -= taken;
      run.left -= taken;
      if (opener.left === 0) openers.pop();
    }
    if (run.opens && run.left > 0) openers.push(run);
  }
}

function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? '' : String.fromCodePoint(code);
}

function characterBefore(text: string, index: number): string {
  const isPair = index > 1 && /[\ud800-\udbff]/.test(text.charAt(index - 2));
  return isPair ? characterAt(text, index - 2) : text.charAt(index - 1);
}
