import { CpuLimit } from '../src/read/cpu-limit.ts';
import { renderNote } from '../src/read/note-html.ts';

/** A text with every kind of markup. The first text of a thread takes 20 ms more, which must not count against a client's text. */
const TEXT = Buffer.from('# a\n\n*b* `c` ~~d~~ [e](f) ![g](h.png)\n\n- i\n  > j\n\n|k|l|\n|-|-|\n|m|n|\n');

renderNote(TEXT, new CpuLimit(Number.POSITIVE_INFINITY));
