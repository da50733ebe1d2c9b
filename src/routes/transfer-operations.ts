import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import { prependChunk } from '../http/representation.ts';
import { exportFeed } from '../read/feed-export.ts';
import { existing, Refusal } from '../refusals.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import type { OperationDocs } from './operation-docs.ts';

/** Of the whole instance at once. */
const MAX_EXPORTS = 4;

/** A whole feed goes out as a zip and comes back in. */
export function transferOperations(parts: OperationParts): DescribedOperation[] {
  const exports = new Slots(MAX_EXPORTS);
  return [
    operation(
      'exportFeed',
      'GET /api/v1/feeds/{feed}/export',
      { access: 'reader', docs: EXPORT },
      async (exchange, { feed }) => {
        const pieces = exportFeed(parts.storage, existing(feed, 'feed'));
        return zipAnswer(exchange, pieces, exports.take(exchange.client));
      },
    ),
  ];
}

/** The first piece is made before the status is sent, so that a failure is still answered as an error. */
async function zipAnswer(
  { isHead }: Exchange,
  pieces: AsyncGenerator<Uint8Array>,
  release: () => void,
): Promise<Answer> {
  const close = () => {
    release();
    pieces.return(undefined).catch(() => {});
  };
  try {
    const first = isHead ? undefined : await pieces.next();
    const day = new Date().toISOString().slice(0, 10);
    return {
      status: 200,
      headers: headers({
        'Content-Type': 'application/zip',
        // Without the name of the feed, which is its key.
        'Content-Disposition': `attachment; filename="notes-${day}.zip"`,
        'Cache-Control': 'private, no-store',
        'X-Content-Type-Options': 'nosniff',
      }),
      body: { chunks: first ? prependChunk(first, pieces) : pieces, close },
    };
  } catch (cause) {
    close();
    throw cause;
  }
}

/** Requests that take long or much room: a number of them at once, half of them by one client. */
class Slots {
  readonly #most: number;
  /** A client for each request. */
  readonly #taken: string[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Returns what gives the place back; call it once.
   * @throws Refusal `busy`
   */
  take(client: string): () => void {
    const own = this.#taken.filter((one) => one === client).length;
    if (this.#taken.length >= this.#most || own >= this.#most / 2)
      throw new Refusal('busy', 'Too many feeds come or go at once. Try again when one is done.', {
        retryAfter: 30,
      });
    this.#taken.push(client);
    return () => this.#taken.splice(this.#taken.indexOf(client), 1);
  }
}

const EXPORT: OperationDocs = {
  tag: 'Feeds',
  summary: 'Get everything of a feed',
  description:
    'A zip of what the folder of the feed on plain files would hold: its notes as files, their metadata files, and ' +
    '`.feed.json` with its settings; no password, license or read id. The import takes it. An answer that breaks off ' +
    'is not whole. Two exports at a time for each client.',
  answers: {
    200: {
      description: 'The feed.',
      headers: ['Cache-Control', 'Content-Disposition'],
      content: { 'application/zip': 'bytes' },
    },
  },
  refusals: ['not_found'],
};
