import { CpuLimit } from '../src/read/cpu-limit.ts';
import type { NotesToJudge, ThreadJudgement } from '../src/read/matches.ts';
import { plainText } from '../src/read/note-html.ts';
import { type NoteToSearch, searchedAsWritten, searchedWithText } from '../src/read/searched-note.ts';
import { findMatch } from '../src/search/match.ts';
import './warm-up.ts';

/**
 * Judges the notes from the first on, until they have taken `ms` together. A few texts may take much longer: run it with a time limit.
 * Returns a `ThreadJudgement` of each; undefined for one that is too slow.
 */
export default function findMatches(
  { query, notes, ms, isAsWritten }: NotesToJudge,
  isGivenUp: () => boolean,
): (ThreadJudgement | undefined)[] {
  const judge = (note: NoteToSearch): ThreadJudgement | undefined => {
    if (isAsWritten || note.content === undefined)
      return { match: findMatch(query, searchedAsWritten(note)) };
    const text = plainText(note.content, new CpuLimit(ms, isGivenUp));
    return text === undefined ? undefined : { match: findMatch(query, searchedWithText(note, text)), text };
  };
  const together = new CpuLimit(ms, isGivenUp);
  const judged: (ThreadJudgement | undefined)[] = [];
  for (const note of notes) {
    judged.push(judge(note));
    if (together.isReached) break;
  }
  return judged;
}
