import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { NOSNIFF } from '../http/answer.ts';
import { Representation } from '../http/representation.ts';
import type { DescribedOperation } from './operation.ts';
import { CONDITIONAL, conditionalAnswers } from './operation-docs.ts';

const COMPRESS = { gzip: promisify(gzip), br: promisify(brotliCompress) };

/** The operation that describes a table of operations, and itself among them. */
export function openApiOperation(
  table: readonly DescribedOperation[],
  publicUrl: string | undefined,
): DescribedOperation {
  const self: DescribedOperation = {
    id: 'getOpenApi',
    method: 'GET',
    path: '/api/v1/openapi.json',
    access: 'public',
    cors: true,
    docs: {
      tag: 'Service',
      summary: 'This description',
      parameters: CONDITIONAL,
      answers: conditionalAnswers({ 'application/json': 'OpenApi' }, 'An OpenAPI 3.1 document.'),
      refusals: [],
    },
    async handle(exchange) {
      document ??= describe();
      return (await document).answer(exchange);
    },
  };
  let document: Promise<Representation> | undefined;
  /** When somebody first asks, for what it takes is much memory: see `json-bodies.ts`. */
  async function describe(): Promise<Representation> {
    const { openApiDocument } = await import('./openapi.ts');
    return representation(openApiDocument([...table, self], publicUrl));
  }
  return self;
}

/** Compressed when first asked for, on Node's own threads. */
function representation(document: unknown): Representation {
  const body = Buffer.from(JSON.stringify(document));
  return new Representation({
    body,
    etag: createHash('sha256').update(body).digest('base64url'),
    fields: { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=60', ...NOSNIFF },
    compress: (bytes, coding) => COMPRESS[coding](bytes),
  });
}
