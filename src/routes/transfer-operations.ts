import type { NamedFeed } from '../access/access.ts';
import { type Answer, json, NOSNIFF } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { headers } from '../http/headers.ts';
import { prependChunk } from '../http/representation.ts';
import { FeedZip } from '../ingest/feed-zip.ts';
import { temporaryFile } from '../ingest/temporary-file.ts';
import { exportFeed } from '../read/feed-export.ts';
import { existing, Refusal } from '../refusals.ts';
import { feedCondition } from '../requests/conditions.ts';
import { refuseUnlessZip } from '../requests/content-type.ts';
import { refuseLargeBody } from '../requests/multipart.ts';
import { rulesOf } from './note-operations.ts';
import { type Admitted, type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { jsonAnswer, type OperationDocs } from './operation-docs.ts';
import { TransferPlaces } from './transfer-places.ts';

/** Of the whole instance at once. */
const [MAX_EXPORTS, MAX_IMPORTS] = [4, 2];
const MAX_ZIP_BYTES = 1024 ** 3;
const TOO_SLOW = 'The zip arrived too slowly, and somebody else needs the place. Try again later.';

/** A whole feed goes out as a zip and comes back in. */
export function transferOperations(parts: OperationParts): DescribedOperation[] {
  const exports = new TransferPlaces(MAX_EXPORTS);
  const imports = new TransferPlaces(MAX_IMPORTS);
  return [
    operation(
      'importFeed',
      'POST /api/v1/feeds/{feed}/import',
      { access: 'poster', docs: IMPORT },
      (exchange, call) => importZip(parts, exchange, call, imports),
    ),
    operation(
      'exportFeed',
      'GET /api/v1/feeds/{feed}/export',
      { access: 'reader', docs: EXPORT },
      async (exchange, { feed }) => {
        const pieces = exportFeed(parts.storage, existing(feed, 'feed'));
        if (exchange.isHead) return zipAnswer(exchange, pieces, () => {});
        const transfer = exports.take(exchange.client, () => exchange.breakOff());
        return zipAnswer(exchange, transfer.send(pieces), () => exports.free(transfer));
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
        ...NOSNIFF,
        'Content-Type': 'application/zip',
        // The file name must not hold the feed's name, because that is a key.
        'Content-Disposition': `attachment; filename="notes-${day}.zip"`,
        'Cache-Control': 'private, no-store',
      }),
      body: { chunks: first ? prependChunk(first, pieces) : pieces, close },
    };
  } catch (cause) {
    close();
    throw cause;
  }
}

/** Goes on when the client leaves, because what is stored stays, and a proxy may not wait so long. */
async function importZip(
  parts: OperationParts,
  exchange: Exchange,
  { name, feed, caller }: NamedFeed & Admitted,
  imports: TransferPlaces,
): Promise<Answer> {
  refuseUnlessZip(exchange.header('content-type'));
  refuseLargeBody(exchange, MAX_ZIP_BYTES);
  const admitted = parts.posting.admit(
    { name, feed },
    exchange.header('x-read-id') ?? '',
    feedCondition(exchange),
  );
  const transfer = imports.take(exchange.client, () => exchange.refuseBody(new Refusal('timeout', TOO_SLOW)));
  try {
    const pieces = transfer.receive(exchange.pieces(MAX_ZIP_BYTES));
    const file = await temporaryFile(parts.temporaryFolder, pieces);
    try {
      const zip = await FeedZip.open(file);
      return json(200, await parts.importing.import(admitted, zip, rulesOf(parts, feed).limits, caller));
    } finally {
      await file.close();
    }
  } finally {
    imports.free(transfer);
  }
}

const EXPORT: OperationDocs = {
  tag: 'Feeds',
  summary: 'Get everything of a feed',
  description:
    'A zip of what the folder of the feed on plain files would hold: its notes as files, their metadata files, and ' +
    '`.feed.json` with its settings; no password, license or read id. The import takes it. An answer that ends early ' +
    'is not complete. Two exports at a time for each client. While all places are taken, one that is slower than 64 KB/s ends early ' +
    'for the next.',
  answers: {
    200: {
      description: 'The feed.',
      headers: ['Cache-Control', 'Content-Disposition'],
      content: { 'application/zip': 'bytes' },
    },
  },
  refusals: ['not_found'],
};

const IMPORT: OperationDocs = {
  tag: 'Feeds',
  summary: 'Store the notes of a zip',
  description:
    'Takes a zip of at most 1 GiB with the files that the folder of a feed has on plain files, at its top or in one folder, as ' +
    'the export and `zip -r` make it. Ids and dates stay. Notes that are there already are skipped, so an import that broke off ' +
    'can be sent again. Each file is checked as a post is, the limits of the feed included; a file that is refused does not stop ' +
    'the others. Settings that the feed has already stay; `keep` and `listed` are taken only if it has no other notes. The first ' +
    'note makes the feed. Counts as one write. One import at a time for each client. While all places are taken, one that arrives more ' +
    'slowly than 64 KB/s is refused (408) for the next.',
  parameters: ['chosenReadId', 'ifFeedMatches', 'ifNoFeed'],
  body: 'zip',
  answers: { 200: jsonAnswer('Imported', 'What became of the files.') },
  refusals: ['feed_exists', 'taken', 'changed', 'feed_limit', 'not_found', 'unsupported_type'],
};
