/** A bare loop that does nothing but commit groups of notes, for some seconds. Its order comes as JSON, its result goes out so. */
import { type CommitPlace, openCommits } from './commits.ts';

export interface CommitOrder {
  readonly place: CommitPlace;
  /** Notes of 1 KB in each commit. */
  readonly group: number;
  readonly seconds: number;
}

const { place, group, seconds } = JSON.parse(process.argv[2]!) as CommitOrder;
const commits = await openCommits(place);
const notes = Array.from({ length: group }, () => Buffer.alloc(1024, 'x'));
const begun = performance.now();
let count = 0;
for (; performance.now() - begun < seconds * 1000; count += group) await commits.commit(notes);
const perSecond = (count / (performance.now() - begun)) * 1000;
await commits.close();
console.log(JSON.stringify({ perSecond }));
