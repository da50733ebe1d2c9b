import type { FeedName, ReadId } from '../feeds/names.ts';
import { existing } from '../refusals.ts';
import type { OperatorRecord, OperatorRecords } from '../storage/operator-records.ts';
import { pictureBlocked } from '../writing/decide.ts';

/** Names of feeds, read links, and SHA-256 of pictures in base64url. */
export const BLOCK_KINDS = ['name', 'link', 'picture'] as const;
type BlockKind = (typeof BLOCK_KINDS)[number];

/** A record of something that the operator has closed. */
export type Block = OperatorRecord & { readonly kind: BlockKind };

interface BlockPage {
  readonly blocks: readonly Block[];
  /** Where the next page starts, or undefined at the end. */
  readonly next: Pick<Block, 'kind' | 'key'> | undefined;
}

/** What the operator has closed. Records count at once in all processes, because they are looked up in the storage. */
export class Blocks {
  readonly #records: OperatorRecords;

  constructor(records: OperatorRecords) {
    this.#records = records;
  }

  /** Closes a name: it takes nothing more, and the read link of its feed shows no feed. May be repeated. */
  async blockName(name: FeedName): Promise<void> {
    await this.#add('name', name, '');
  }

  /**
   * Closes the name and the read link of a feed that is to be removed. May be repeated.
   * @param target what was reported, for people
   */
  async blockFeed(name: FeedName, readId: ReadId, target: string): Promise<void> {
    await this.#add('name', name, target);
    await this.#add('link', readId, target);
  }

  /** Closes the bytes of a picture. May be repeated. */
  async blockPicture(sha256: string, target: string): Promise<void> {
    await this.#add('picture', sha256, target);
  }

  /** @throws Refusal `not_found` */
  async unblock(kind: BlockKind, key: string): Promise<void> {
    existing((await this.#records.remove(kind, key)) || undefined, 'block');
  }

  /** Whether a feed of this read id was removed for good. */
  async isRemoved(readId: ReadId): Promise<boolean> {
    return (await this.#records.find('link', [readId])).length > 0;
  }

  /** A page of all blocks: by kind, then by key. */
  async list(limit: number, after: Pick<Block, 'kind' | 'key'> | undefined): Promise<BlockPage> {
    const blocks: Block[] = [];
    for (const kind of BLOCK_KINDS.slice(after && BLOCK_KINDS.indexOf(after.kind))) {
      const from = kind === after?.kind ? after.key : '';
      const page = { after: from, limit: limit + 1 - blocks.length };
      blocks.push(...((await this.#records.list(kind, page)) as readonly Block[]));
      if (blocks.length > limit) return { blocks: blocks.slice(0, limit), next: blocks[limit - 1] };
    }
    return { blocks, next: undefined };
  }

  async #add(kind: BlockKind, key: string, value: string): Promise<void> {
    await this.#records.add({ kind, key, value, at: Date.now() });
  }
}

/**
 * Refuses pictures that the operator has closed, before they are put into an image store. One that is closed later is refused when
 * the write is decided.
 * @param hashes SHA-256 in base64url
 * @throws Refusal `blocked` with the status 451 and the position of the first one
 */
export async function refuseBlocked(
  records: Pick<OperatorRecords, 'find'>,
  hashes: readonly string[],
): Promise<void> {
  const found = await records.find('picture', hashes);
  if (found.length === 0) return;
  const keys = new Set(found.map(({ key }) => key));
  throw pictureBlocked(hashes.findIndex((hash) => keys.has(hash)));
}
