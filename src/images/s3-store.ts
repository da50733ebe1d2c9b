import { on } from 'node:events';
import { Readable } from 'node:stream';
import { PutObjectCommand, S3 } from '@aws-sdk/client-s3';
import { type ImageKey, isImageKey } from '../feeds/ids.ts';
import { CircuitBreaker, isAbsent, s3Failure } from './circuit-breaker.ts';
import {
  type ImageBytes,
  type ImageFacts,
  type ImageStore,
  imageGone,
  type ListedImage,
} from './image-store.ts';
import { S3Requests } from './s3-requests.ts';

/** Where a bucket is, and who may use it. All but the region are never shown. */
export interface S3Place {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** Requests at once; more wait for a slot. */
const SOCKETS = 64;
const CONNECT_MS = 2_000;
const STALL_MS = 10_000;
/** A body is read ahead of its reader by at most this many pieces. */
const PIECES_AHEAD = 8;
/** Requests for the rest of a truncated body. */
const MAX_RESUMES = 2;
const PAGE = 1_000;

/** Limits that tests lower. */
export interface S3Tuning {
  readonly connectMs?: number;
  readonly stallMs?: number;
  readonly probeMs?: number;
  readonly pageSize?: number;
}

/** The client would log keys. */
const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Pictures as objects of a bucket, each named by its key, in any store that speaks the S3 API (path style). */
export class S3Store implements ImageStore {
  readonly kind = 's3';
  readonly listsInOrder = true;
  readonly #client: S3;
  readonly #bucket: string;
  readonly #pageSize: number;
  readonly #breaker: CircuitBreaker;
  readonly #requests: S3Requests;

  constructor(
    place: S3Place,
    { connectMs = CONNECT_MS, stallMs = STALL_MS, probeMs, pageSize = PAGE }: S3Tuning = {},
  ) {
    this.#bucket = place.bucket;
    this.#pageSize = pageSize;
    this.#requests = new S3Requests({ connectMs, stallMs, sockets: SOCKETS });
    this.#client = new S3({
      endpoint: place.endpoint,
      region: place.region,
      credentials: { accessKeyId: place.accessKey, secretAccessKey: place.secretKey },
      forcePathStyle: true,
      // Not every store knows the newer checksums; the hash of what is put is in its signature.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // `CircuitBreaker` retries, and has to see each attempt.
      maxAttempts: 1,
      requestHandler: this.#requests,
      expectContinueHeader: false,
      logger: SILENT,
    });
    this.#breaker = new CircuitBreaker(SOCKETS, (options) => this.#listOne(options), probeMs);
  }

  get isDown(): boolean {
    return this.#breaker.isDown;
  }

  async put(key: ImageKey, bytes: ImageBytes): Promise<void> {
    const { size, sha256 } = bytes;
    await this.#breaker.run(async (options) => {
      const body = Readable.from(bytes.pieces(), { objectMode: false });
      // The request fails with it.
      body.on('error', () => {});
      const command = new PutObjectCommand({ ...this.#named(key), Body: body, ContentLength: size });
      if (sha256 !== undefined)
        command.middlewareStack.add(
          (next) => (args) => {
            const { headers } = args.request as { readonly headers: Record<string, string> };
            headers['x-amz-content-sha256'] = Buffer.from(sha256, 'base64url').toString('hex');
            return next(args);
          },
          { step: 'build', name: 'knownHash' },
        );
      try {
        return await this.#client.send(command, options);
      } finally {
        body.destroy();
      }
    });
  }

  async *get(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array> {
    if (start >= end) return;
    const releaseSlot = await this.#breaker.takeSlot();
    try {
      let at = start;
      for (let resumes = 0; at < end; ) {
        try {
          for await (const piece of this.#readRange(key, at, end)) {
            at += piece.byteLength;
            yield piece;
          }
        } catch (error) {
          // Resume only truncated bodies; other errors were retried already.
          if (!(error instanceof ShortBody)) throw error;
          resumes += 1;
          if (resumes > MAX_RESUMES) throw s3Failure(error);
        }
      }
    } finally {
      releaseSlot();
    }
  }

  async head(key: ImageKey): Promise<ImageFacts | undefined> {
    const found = await this.#breaker
      .run((options) => this.#client.headObject(this.#named(key), options))
      .catch(undefinedIfAbsent);
    return found && factsOf(found.ContentLength, found.LastModified);
  }

  async delete(key: ImageKey): Promise<boolean> {
    // The answer to a deletion does not say whether there was an object.
    const isThere = (await this.head(key)) !== undefined;
    if (isThere)
      await this.#breaker
        .run((options) => this.#client.deleteObject(this.#named(key), options))
        .catch(undefinedIfAbsent);
    return isThere;
  }

  async *list(): AsyncIterable<readonly ListedImage[]> {
    let token: string | undefined;
    do {
      const query = { Bucket: this.#bucket, MaxKeys: this.#pageSize, ContinuationToken: token };
      const page = await this.#breaker.run((options) => this.#client.listObjectsV2(query, options));
      yield (page.Contents ?? []).flatMap(({ Key = '', Size, LastModified }) =>
        isImageKey(Key) ? [{ key: Key, facts: factsOf(Size, LastModified) }] : [],
      );
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async now(): Promise<number> {
    await this.#breaker.run((options) => this.#listOne(options));
    return Date.now() + this.#requests.clockAhead;
  }

  close(): void {
    this.#breaker.close();
    this.#client.destroy();
  }

  #listOne(options: { readonly abortSignal: AbortSignal }): Promise<unknown> {
    return this.#client.listObjectsV2({ Bucket: this.#bucket, MaxKeys: 1 }, options);
  }

  #named(key: ImageKey): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: key };
  }

  /** The body of one request. Throws `ShortBody` if it is truncated. */
  async *#readRange(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array> {
    const query = { ...this.#named(key), Range: `bytes=${start}-${end - 1}` };
    const { Body } = await this.#breaker
      .attempt((options) => this.#client.getObject(query, options))
      .catch((error) => {
        throw isAbsent(error) ? imageGone() : error;
      });
    const stream = Body as Readable;
    let missing = end - start;
    stream.on('error', () => {});
    try {
      // Hold back the last piece until the body has ended: its reader asks for no more, and destroying a body that has
      // not ended closes the connection.
      let last: Uint8Array | undefined;
      // The iterator of the stream would stop the socket at each piece, and copy pieces that arrived together into one.
      const ahead = { close: ['end'], highWaterMark: PIECES_AHEAD, lowWaterMark: 1 };
      for await (const [piece] of on(stream, 'data', ahead)) {
        missing -= piece.byteLength;
        if (missing < 0) throw new ShortBody('longer than it should be');
        if (missing === 0) last = piece;
        else {
          yield piece;
          this.#requests.release(piece);
        }
      }
      if (last) {
        yield last;
        this.#requests.release(last);
      }
    } catch (error) {
      throw error instanceof ShortBody ? error : new ShortBody('cut', { cause: error });
    } finally {
      stream.destroy();
    }
    if (missing > 0) throw new ShortBody('shorter than it should be');
  }
}

/** A body is shorter or longer than it should be. */
class ShortBody extends Error {}

function undefinedIfAbsent(error: unknown): undefined {
  if (!isAbsent(error)) throw error;
}

function factsOf(size = 0, modified: Date | undefined): ImageFacts {
  return { size, modifiedAt: modified?.getTime() ?? 0 };
}
