import { oldestFirst, type Position, sortKeyOf } from '../../feeds/order.ts';

/** Some of a feed's notes that are near each other in time. Each step of a search reads the words of one chunk only. */
export interface Chunk {
  readonly id: number;
  /** The oldest and the newest note that it has had. */
  first: Position;
  last: Position;
  notes: number;
  /** Row numbers given away. */
  rows: number;
  /** Words that were put in, also of notes that went. */
  words: number;
  /**
   * How far rows are out of order: two notes whose rows are in the wrong order are at most this many rows apart. 0 if all rows
   * are in the order of the notes, as in a feed that only gets new notes.
   */
  lag: number;
}

/** When a chunk takes no more notes. */
export interface ChunkLimits {
  readonly notes: number;
  readonly words: number;
  /** Row numbers that a chunk has; none is given away twice. */
  readonly rows: number;
}

/**
 * The chunk that a note goes to, among those of its feed: the one of its time, else the next one; undefined if both are full. Chunks
 * may overlap, because otherwise old notes that come later would need many small ones.
 */
export function chunkFor(chunks: Iterable<Chunk>, note: Position, limits: ChunkLimits): Chunk | undefined {
  let own: Chunk | undefined;
  let next: Chunk | undefined;
  for (const chunk of chunks)
    if (byAge(chunk.first, note) <= 0) {
      if (!own || byAge(chunk.first, own.first) > 0) own = chunk;
    } else if (!next || byAge(chunk.first, next.first) < 0) next = chunk;
  return [own, next].find((chunk) => chunk && !isFull(chunk, limits));
}

function isFull({ notes, words, rows }: Chunk, limits: ChunkLimits): boolean {
  return notes >= limits.notes || words >= limits.words || rows >= limits.rows;
}

/** Orders places in a feed from old to new. */
export function byAge(a: Position, b: Position): number {
  return a.createdAt - b.createdAt || (a.file === b.file ? 0 : oldestFirst(sortKeyOf(a), sortKeyOf(b)));
}
