import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { type ImageKey, isImageKey } from '../feeds/image-keys.ts';
import {
  type ImageBytes,
  type ImageFacts,
  type ImageStore,
  imageGone,
  type ListedImage,
} from './image-store.ts';
import { Outages } from './outages.ts';
import { Patience } from './patience.ts';
import { ReadBuffers } from './read-buffers.ts';
import { isAbsent, isTransient, ShortBody, s3Failure } from './s3-failures.ts';
import { S3Requests } from './s3-requests.ts';

/** Where a bucket is, and who may use it. All but the region are never shown. */
export interface S3Place {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** Requests at once; more wait for their turn. */
const SOCKETS = 64;
const CONNECT_MS = 2_000;
/** A request is aborted when no byte has moved for this long, ms. A slow body may take longer in all. */
const SILENCE_MS = 10_000;
/** If the connection breaks while a body is read, the rest is requested again, at most this often. */
const RESUMES = 2;
const PAGE = 1_000;

/** What a test sets otherwise. */
export interface S3Tuning {
  readonly connectMs?: number;
  readonly silenceMs?: number;
  readonly probeMs?: number;
  readonly pageSize?: number;
}

/** The client would name keys in what it logs. */
const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Pictures as objects of a bucket, each named by its key, in any store that speaks the S3 API (path style). */
export class S3Store implements ImageStore {
  readonly kind = 's3';
  readonly listsInOrder = true;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #silenceMs: number;
  readonly #pageSize: number;
  readonly #outages: Outages;
  readonly #buffers = new ReadBuffers();
  /** How far the store's clock is ahead of ours, ms. */
  #clockAhead = 0;

  constructor(
    place: S3Place,
    { connectMs = CONNECT_MS, silenceMs = SILENCE_MS, probeMs, pageSize = PAGE }: S3Tuning = {},
  ) {
    this.#bucket = place.bucket;
    this.#silenceMs = silenceMs;
    this.#pageSize = pageSize;
    this.#client = new S3Client({
      endpoint: place.endpoint,
      region: place.region,
      credentials: { accessKeyId: place.accessKey, secretAccessKey: place.secretKey },
      forcePathStyle: true,
      // Not every store knows the newer checksums; the hash of what is put is in its signature.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // `Outages` tries again, and has to see each attempt.
      maxAttempts: 1,
      requestHandler: new S3Requests({ connectMs, sockets: SOCKETS, buffers: this.#buffers }),
      expectContinueHeader: false,
      logger: SILENT,
    });
    this.#client.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
        const date = Date.parse(headers?.date ?? '');
        if (!Number.isNaN(date)) this.#clockAhead = date - Date.now();
        return result;
      },
      { step: 'deserialize', name: 'serverDate' },
    );
    this.#outages = new Outages({
      atOnce: SOCKETS,
      isTransient,
      failure: s3Failure,
      probe: (signal) =>
        this.#client.send(new ListObjectsV2Command({ Bucket: this.#bucket, MaxKeys: 1 }), {
          abortSignal: signal,
        }),
      probeMs,
    });
  }

  get isDown(): boolean {
    return this.#outages.isDown;
  }

  async put(key: ImageKey, bytes: ImageBytes): Promise<void> {
    await this.#outages.run((signal) => this.#put(key, bytes, signal));
  }

  async *get(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array> {
    if (start >= end) return;
    const turn = await this.#outages.turn();
    try {
      let at = start;
      for (let resumes = 0; at < end; ) {
        try {
          for await (const piece of this.#part(key, at, end)) {
            at += piece.byteLength;
            yield piece;
          }
        } catch (error) {
          // Only a body that was cut: whatever else is worth another attempt has had it.
          if (!(error instanceof ShortBody)) throw error;
          resumes += 1;
          if (resumes > RESUMES) throw s3Failure(error);
        }
      }
    } finally {
      turn.end();
    }
  }

  async head(key: ImageKey): Promise<ImageFacts | undefined> {
    try {
      const found = await this.#ask((abortSignal) =>
        this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal }),
      );
      return { size: found.ContentLength ?? 0, modifiedAt: found.LastModified?.getTime() ?? 0 };
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async delete(key: ImageKey): Promise<boolean> {
    // The answer to a deletion does not tell whether there was anything.
    const isThere = (await this.head(key)) !== undefined;
    if (!isThere) return false;
    await this.#ask((abortSignal) =>
      this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal }),
    ).catch((error) => {
      if (!isAbsent(error)) throw error;
    });
    return true;
  }

  async *list(): AsyncIterable<readonly ListedImage[]> {
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        MaxKeys: this.#pageSize,
        ContinuationToken: token,
      });
      const page = await this.#ask((abortSignal) => this.#client.send(command, { abortSignal }));
      yield (page.Contents ?? []).flatMap(({ Key = '', Size = 0, LastModified }) =>
        isImageKey(Key)
          ? [{ key: Key, facts: { size: Size, modifiedAt: LastModified?.getTime() ?? 0 } }]
          : [],
      );
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    }
  }

  async now(): Promise<number> {
    await this.#ask((abortSignal) =>
      this.#client.send(new ListObjectsV2Command({ Bucket: this.#bucket, MaxKeys: 1 }), { abortSignal }),
    );
    return Date.now() + this.#clockAhead;
  }

  close(): void {
    this.#outages.close();
    this.#client.destroy();
  }

  /** A request with a short answer. */
  #ask<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#outages.run((signal) =>
      Patience.with(this.#silenceMs, signal, ({ signal }) => send(signal)),
    );
  }

  #put(key: ImageKey, bytes: ImageBytes, outer: AbortSignal): Promise<unknown> {
    return Patience.with(this.#silenceMs, outer, async (patience) => {
      const body = Readable.from(patience.watch(bytes.read(0, bytes.size)), { objectMode: false });
      body.on('error', (error) => patience.giveUp(error));
      try {
        const command = new PutObjectCommand({
          Bucket: this.#bucket,
          Key: key,
          Body: body,
          ContentLength: bytes.size,
        });
        const { sha256 } = bytes;
        if (sha256 !== undefined)
          command.middlewareStack.add(
            (next) => (args) => {
              const { headers } = args.request as { readonly headers: Record<string, string> };
              headers['x-amz-content-sha256'] = Buffer.from(sha256, 'base64url').toString('hex');
              return next(args);
            },
            { step: 'build', name: 'knownHash' },
          );
        return await this.#client.send(command, { abortSignal: patience.signal });
      } finally {
        body.destroy();
      }
    });
  }

  /** What one request brings; throws `ShortBody` where it ends early. */
  async *#part(key: ImageKey, start: number, end: number): AsyncIterable<Uint8Array> {
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      Range: `bytes=${start}-${end - 1}`,
    });
    const { Body } = await this.#outages
      .attempt((signal) =>
        Patience.with(this.#silenceMs, signal, (patience) =>
          this.#client.send(command, { abortSignal: patience.signal }),
        ),
      )
      .catch((error) => {
        throw isAbsent(error) ? imageGone() : error;
      });
    const stream = Body as Readable;
    let missing = end - start;
    const patience = new Patience(this.#silenceMs);
    try {
      // The last piece is held back until the body has ended: who has it asks for no more, and a body that has not
      // ended takes its connection with it.
      let last: Uint8Array | undefined;
      for await (const piece of patience.reading(stream) as AsyncIterable<Uint8Array>) {
        missing -= piece.byteLength;
        if (missing < 0) throw new ShortBody('longer than it should be');
        if (missing === 0) last = piece;
        else {
          yield piece;
          this.#buffers.release(piece);
        }
      }
      if (last) {
        yield last;
        this.#buffers.release(last);
      }
    } catch (error) {
      throw error instanceof ShortBody ? error : new ShortBody('cut', { cause: error });
    } finally {
      patience.end();
      stream.destroy();
    }
    if (missing > 0) throw new ShortBody('shorter than it should be');
  }
}
