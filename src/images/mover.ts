import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { type ImageKey, newImageKey } from '../feeds/ids.ts';
import { onRefusal, Refusal } from '../refusals.ts';
import {
  type PicturePlace,
  type PictureRow,
  type PictureRows,
  RESERVED_MS,
} from '../storage/picture-rows.ts';
import {
  bytesInMemory,
  type ImageBytes,
  type ImageStore,
  imageGone,
  imagesUnavailable,
  inParallel,
} from './image-store.ts';
import { removeObjects } from './object-remover.ts';
import { type Amount, countObject, orUnavailable } from './unreferenced.ts';

/** Pictures on their way at once. */
const AT_ONCE = 4;
const KEYS_AT_ONCE = 500;

/** The two places of a move; an undefined store stands for the rows of the database. */
interface MoveParts {
  readonly rows: PictureRows;
  readonly source: ImageStore | undefined;
  readonly target: ImageStore | undefined;
}

export interface Moved {
  /** Pictures whose bytes are now in the target. */
  readonly moved: Amount;
  /** Pictures that were there already, or changed meanwhile. */
  readonly skipped: number;
  /** Pictures whose bytes are in neither place. */
  readonly missing: number;
  /** Pictures that a store refused. */
  readonly failed: number;
  /** Pictures still to look at. */
  readonly left: number;
  /** Where to go on; undefined when there is nothing left. */
  readonly next: PicturePlace | undefined;
}

type Outcome = 'moved' | 'skipped' | 'missing';
type KeyedPicture = PictureRow & { readonly key: ImageKey };

/**
 * Moves the bytes of pictures into the store of the settings, newest first. It copies the bytes of a picture, has its note
 * refer to the copy, and then removes the old bytes. So it may be stopped at any moment, repeated, and run twice at once. The
 * last call also removes the objects in the source whose notes were removed or replaced meanwhile.
 * @throws Refusal `same_store` if both places are one store; `store_unavailable` with status 502 if one cannot be used
 */
export async function move(
  parts: MoveParts,
  { after, limit }: { readonly after: PicturePlace | undefined; readonly limit: number },
): Promise<Moved> {
  const { rows, source, target } = parts;
  if (source && target) await refuseSameStore(rows, source, target);
  const { pictures, left } = await rows.pictures(after, limit);
  const counts = { skipped: 0, missing: 0, failed: 0 };
  const moved: Amount = { count: 0, bytes: 0 };
  await inParallel(pictures, AT_ONCE, async (picture) => {
    const outcome = await onRefusal(
      () => (source === undefined ? moveRow(parts, picture) : moveObject(parts, source, picture)),
      () => 'failed' as const,
    );
    if (outcome === 'moved') countObject(moved, picture.size);
    else counts[outcome] += 1;
  });
  if (left === 0 && source) await removeFreed(parts, source);
  return { moved, ...counts, left, next: left > 0 ? pictures.at(-1) : undefined };
}

/** Source and target may be one store under two names; moving would then delete every object. */
async function refuseSameStore(rows: PictureRows, source: ImageStore, target: ImageStore): Promise<void> {
  const key = newImageKey();
  await rows.free([key], RESERVED_MS);
  await orUnavailable(() => target.put(key, bytesInMemory(Buffer.from('?'), undefined)));
  try {
    if (await orUnavailable(() => source.head(key)))
      throw new Refusal('same_store', 'The pictures are in that store already.');
  } finally {
    await orUnavailable(() => target.delete(key));
    await rows.forget([key]);
  }
}

/** Moves a picture out of its row. The key is reserved first (in `freed_keys`), so that a crash leaves no object behind. */
async function moveRow({ rows, target }: MoveParts, picture: PictureRow): Promise<Outcome> {
  if (picture.key !== undefined) return 'skipped';
  const key = newImageKey();
  await rows.free([key], RESERVED_MS);
  let isUsed = false;
  try {
    const bytes = await rows.bytes(picture);
    if (bytes === undefined) return 'skipped';
    await target!.put(key, bytesInMemory(bytes, picture.sha256));
    isUsed = await rows.point(picture, key);
    return isUsed ? 'moved' : 'skipped';
  } finally {
    if (!isUsed) await rows.free([key], 0);
  }
}

/**
 * The key stays, so the note refers to the copy from the start. The mark of `beginCopy` has both objects removed if the
 * note goes after a crash.
 */
async function moveObject(
  { rows, target }: MoveParts,
  source: ImageStore,
  picture: PictureRow,
): Promise<Outcome> {
  const { key } = picture;
  if (key === undefined) return 'skipped';
  const object = { ...picture, key };
  let isCopied = false;
  try {
    if (target === undefined) return await intoRow(rows, source, object);
    if ((await source.head(key)) === undefined) throw imageGone();
    if (!(await rows.beginCopy(key))) {
      await rows.markElsewhere([key]);
      return 'skipped';
    }
    await target.put(key, checked(source, object));
    isCopied = true;
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'not_found')) throw error;
    // The bytes are in neither place, unless the note is gone.
    if (target === undefined || !(await target.head(key)))
      return (await rows.referenced([key])).length > 0 ? 'missing' : 'skipped';
  }
  if (isCopied) await source.delete(key);
  // Another move may have been over before this one set its mark, or a crash may have left one.
  if (await rows.endCopy(key)) return isCopied ? 'moved' : 'skipped';
  // Its note is gone, or has another picture.
  await target.delete(key);
  await rows.forget([key]);
  return 'skipped';
}

async function intoRow(rows: PictureRows, source: ImageStore, picture: KeyedPicture): Promise<Outcome> {
  const { key } = picture;
  const bytes = await buffer(checked(source, picture).pieces());
  if (!(await rows.fill(picture, bytes))) return 'skipped';
  await source.delete(key);
  await rows.forget([key]);
  return 'moved';
}

/** The bytes of an object, which must be those that were posted. */
function checked(source: ImageStore, { key, size, sha256 }: KeyedPicture): ImageBytes {
  return {
    size,
    sha256,
    async *pieces() {
      const hash = createHash('sha256');
      for await (const piece of source.get(key, 0, size)) {
        hash.update(piece);
        // A store may still be sending it when the next is read.
        yield Buffer.from(piece);
      }
      if (sha256 !== undefined && hash.digest('base64url') !== sha256)
        throw imagesUnavailable(new Error('an object is not what was posted'));
    },
  };
}

/** Removes the objects of notes that were removed or replaced before or while their pictures were moved. */
async function removeFreed({ rows, target }: MoveParts, source: ImageStore): Promise<void> {
  const stores = target ? [source, target] : [source];
  const claim = () => rows.claim(KEYS_AT_ONCE, 0);
  for (let keys = await claim(); keys.length > 0; keys = await claim())
    await removeObjects(rows, stores, keys);
  let keys = await rows.elsewhere('', KEYS_AT_ONCE);
  for (; keys.length > 0; keys = await rows.elsewhere(keys.at(-1)!, KEYS_AT_ONCE))
    await removeObjects(rows, stores, keys);
}
