import { Marked, type Token } from 'marked';
import { CpuLimit } from './cpu-limit.ts';
import { REFERENCE_LENGTH } from './note-text.ts';
import type { PreparedText } from './prepared-text.ts';

/**
 * Limit of the characters that rendering adds. Three constructs amplify a note: short table rows are padded with cells, each
 * use of a link definition repeats its address, and relative references become addresses. Without a limit 30 KB of markdown
 * could become gigabytes of HTML.
 */
const MAX_ADDED = 640 * REFERENCE_LENGTH;
/** Characters of an empty table cell in HTML. */
const CELL = 10;

/** Of the note that is rendered now, because a thread renders one at a time. */
let added = 0;
let timeLimit = new CpuLimit(0);

const parser = new Marked({
  tokenizer: {
    // The first thing that is tried at each block, and at each part of a line: nothing else that marked does is long.
    space: checkTime,
    escape: checkTime,
    table(source) {
      if (!/^.*\n {0,3}[|:-]/.test(source)) return undefined;
      const [, , delimiters = '', rows = ''] = this.rules.block.table.exec(source) ?? [];
      addCharacters(missingCells(delimiters, rows) * CELL);
      return false;
    },
  },
});

/**
 * The blocks of a note.
 * @throws CpuLimitReached; after a minute or more for a few texts whose parts alone take that long
 * @throws RangeError if rendering adds too many characters
 */
export function parseMarkdown(text: PreparedText, limit: CpuLimit): Token[] {
  added = 0;
  timeLimit = limit;
  return parser.lexer(text.source);
}

/** Counts characters that rendering adds to the note that was parsed last. Throws a RangeError if they are too many. */
export function addCharacters(characters: number): void {
  added += characters;
  if (added > MAX_ADDED) throw new RangeError('the rendered note is too large');
}

/** Returns false, so that the parser goes on. */
function checkTime(): false {
  timeLimit.check();
  return false;
}

/** About how many cells have to be added to the rows of a table. */
function missingCells(delimiters: string, rows: string): number {
  const columns = delimiters.match(/-+/g)?.length ?? 0;
  const lines = rows.split('\n').length;
  return Math.max(0, columns * lines - (lines + rows.split('|').length));
}
