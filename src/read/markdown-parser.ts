import { Marked, type Token, Tokenizer, type Tokens } from 'marked';
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

/** A subclass, because it is much faster than functions given to marked, which wraps them. */
class LimitedTokenizer extends Tokenizer {
  /** The first thing that is tried at each block. */
  override space(source: string): Tokens.Space | undefined {
    timeLimit.check();
    return super.space(source);
  }

  /** The first thing that is tried at each part of a line. */
  override escape(source: string): Tokens.Escape | undefined {
    timeLimit.check();
    return super.escape(source);
  }

  override table(source: string): Tokens.Table | undefined {
    if (!/^.*\n {0,3}[|:-]/.test(source)) return undefined;
    const [, , delimiters = '', rows = ''] = this.rules.block.table.exec(source) ?? [];
    addCharacters(missingCells(delimiters, rows) * CELL);
    return super.table(source);
  }
}

const parser = new Marked();
parser.setOptions({ tokenizer: new LimitedTokenizer() });

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

/** About how many cells have to be added to the rows of a table. */
function missingCells(delimiters: string, rows: string): number {
  const columns = delimiters.match(/-+/g)?.length ?? 0;
  const lines = rows.split('\n').length;
  return Math.max(0, columns * lines - (lines + rows.split('|').length));
}
