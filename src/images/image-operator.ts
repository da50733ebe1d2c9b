import pLimit from 'p-limit';
import { isNoteId } from '../feeds/names.ts';
import { NOTE_TYPES } from '../feeds/note-types.ts';
import { Refusal } from '../refusals.ts';
import type { PicturePlace, PictureRows } from '../storage/picture-rows.ts';
import type { ImageStore, StoreKind } from './image-store.ts';
import { type Moved, move } from './mover.ts';
import { type ImagePlace, isSamePlace, openSource } from './open-images.ts';
import { findOrphans, type OrphanReport } from './unreferenced.ts';

interface ImageOperatorParts {
  /** Undefined where notes are files. */
  readonly rows: PictureRows | undefined;
  /** The place of pictures by the settings, and its open store; undefined for the database. */
  readonly place: ImagePlace | undefined;
  readonly store: ImageStore | undefined;
  /** Called with the result of every comparison. */
  readonly recordScan?: ((report: OrphanReport) => void) | undefined;
}

/** The source of a move. */
export type MoveSource = 'db' | ImagePlace;

interface MoveRequest {
  readonly from: MoveSource;
  /** Pictures to look at. */
  readonly limit: number;
  /** The `next` of the last result; undefined for the start. */
  readonly after: PicturePlace | undefined;
}

interface MoveResult extends Moved {
  readonly store: StoreKind | 'db';
}

/** The operator's actions on the image store. */
export class ImageOperator {
  readonly #parts: ImageOperatorParts;
  /** Moves of one process run one after the other, because two would copy the same pictures. */
  readonly #inTurn = pLimit(1);
  /** A process runs one comparison at a time, because each one lists the whole store. */
  readonly #comparing = pLimit(1);

  constructor(parts: ImageOperatorParts) {
    this.#parts = parts;
  }

  /**
   * Finds objects without a note and notes without their object; see `findOrphans`.
   * @throws Refusal `no_image_store` if there is none
   */
  async findOrphans(deletes: boolean): Promise<OrphanReport> {
    const { rows, store, recordScan } = this.#parts;
    if (!rows || !store) throw noStore();
    const report = await this.#comparing(() => findOrphans({ rows, store }, deletes));
    recordScan?.(report);
    return report;
  }

  /**
   * Moves bytes into the store of the settings; see `move`.
   * @throws Refusal `invalid_request`, `no_image_store`, `same_store`
   */
  async move({ from, limit, after }: MoveRequest): Promise<MoveResult> {
    const { rows, place, store } = this.#parts;
    if (!rows) throw noStore();
    const isSame = from === 'db' ? place === undefined : place !== undefined && isSamePlace(from, place);
    if (isSame) throw new Refusal('same_store', 'The pictures are in that store already.');
    // A folder that cannot be looked at, because of its path or its owner, is none.
    const source = from === 'db' ? undefined : await openSource(from).catch(() => undefined);
    if (from !== 'db' && !source)
      throw new Refusal('invalid_request', 'There is no such folder where the service runs.');
    try {
      const moved = await this.#inTurn(() => move({ rows, source, target: store }, { after, limit }));
      return { ...moved, store: store?.kind ?? 'db' };
    } finally {
      source?.close();
    }
  }
}

function noStore(): Refusal {
  return new Refusal('no_image_store', 'This instance has no image store.');
}

/** The place of a picture that a cursor's members name; undefined if they name none. */
export function picturePlace([createdAt, feed, id, type]: readonly unknown[]): PicturePlace | undefined {
  const isPlace =
    [createdAt, feed, type].every(Number.isSafeInteger) &&
    typeof id === 'string' &&
    isNoteId(id) &&
    NOTE_TYPES[type as number] !== undefined;
  return isPlace ? ({ createdAt, feed, id, type } as PicturePlace) : undefined;
}
