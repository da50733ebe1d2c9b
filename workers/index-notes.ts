import { workerData } from 'node:worker_threads';
import { nice } from '@napi-rs/nice';
import type { FeedName } from '../src/feeds/names.ts';
import { CpuLimit } from '../src/read/cpu-limit.ts';
import { READING_MS, searchedAsWritten, searchedNote } from '../src/read/searched-note.ts';
import { searchedTexts } from '../src/search/match.ts';
import { NoteInWork } from '../src/storage/note-in-work.ts';
import { asBroken } from '../src/storage/search/index-file.ts';
import { type IndexThreadData, IndexWork } from '../src/storage/search/index-work.ts';
import type { NoteSource, SourceData, SourceNote } from '../src/storage/search/note-source.ts';
import { BACKGROUND_NICE, STORAGE_NICE } from '../src/task-limit.ts';
import { callMethod, post, serveCalls } from './serve-calls.ts';

const { source, inWork: shared, asWritten, ...data } = workerData as IndexThreadData;
const inWork = new NoteInWork(shared);
const withoutRendering = new Set(asWritten);

const openSource = await opener(source);

serveCalls(() => {
  nice(BACKGROUND_NICE - STORAGE_NICE);
  const work = new IndexWork({ ...data, textsOf, openSource });
  return {
    run: (calls) => post({ replies: calls.map((call) => callMethod(work, call, asBroken)) }),
    close: () => work.close(),
  };
});

/** The searched texts of a note. If the thread hangs, the one that started it knows the note. */
function textsOf(feed: FeedName, note: SourceNote): readonly string[] {
  const key = `${feed}/${note.file}`;
  if (withoutRendering.has(key)) return searchedTexts(searchedAsWritten(note));
  inWork.begin(key);
  const texts = searchedTexts(searchedNote(note, new CpuLimit(READING_MS)));
  inWork.end();
  return texts;
}

/** Only the kind of source that there is gets loaded. */
async function opener(data: SourceData): Promise<() => NoteSource> {
  if (data.kind === 'files') {
    const { FilesSource } = await import('../src/storage/files/search-source.ts');
    return () => new FilesSource(data.dir);
  }
  const { SqliteSource } = await import('../src/storage/sqlite/search-source.ts');
  return () => new SqliteSource(data.path);
}
