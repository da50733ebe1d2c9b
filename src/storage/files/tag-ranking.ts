import type { TagCount } from '../storage.ts';
import { byUse } from '../tag-counts.ts';
import { countWhile } from './note-list.ts';

/** The most tags of a piece: what adding or removing one moves in memory. */
const PIECE_TAGS = 1024;

/** The tags of a feed with their counts, by count, then by name. They are kept in pieces, so that a change among many is fast. */
export class TagRanking {
  /** At least one piece. If there are several, none of them is empty. */
  readonly #pieces: TagCount[][] = [[]];

  /** Gives a tag another count. Both are 0 for a tag that is not in the ranking. */
  change(tag: string, before: number, count: number): void {
    if (before === count) return;
    if (before > 0) this.#remove({ tag, count: before });
    if (count > 0) this.#add({ tag, count });
  }

  /** All tags in pieces of at most 1,024, the most used first. */
  get pieces(): readonly (readonly TagCount[])[] {
    return this.#pieces;
  }

  #add(one: TagCount): void {
    const [p, at] = this.#placeOf(one);
    const piece = this.#pieces[p]!;
    piece.splice(at, 0, one);
    if (piece.length > PIECE_TAGS) this.#pieces.splice(p + 1, 0, piece.splice(PIECE_TAGS / 2));
  }

  #remove(one: TagCount): void {
    const [p, at] = this.#placeOf(one);
    this.#pieces[p]!.splice(at, 1);
    if (this.#pieces[p]!.length === 0 && this.#pieces.length > 1) this.#pieces.splice(p, 1);
  }

  /** The piece that a tag is in, or belongs into, and how many of that come before it. */
  #placeOf(one: TagCount): [piece: number, tags: number] {
    const p = countWhile(this.#pieces.length - 1, (at) => byUse(this.#pieces[at + 1]![0]!, one) <= 0);
    const piece = this.#pieces[p]!;
    return [p, countWhile(piece.length, (at) => byUse(piece[at]!, one) < 0)];
  }
}
