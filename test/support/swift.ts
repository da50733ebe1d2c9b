import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Place } from '../../src/images/s3-store.ts';
import { program } from './installed.ts';
import { tempDir } from './service.ts';

const ACCESS_KEY = 'notes:tester';
const SECRET_KEY = 'a-secret-key-of-tests';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** A real S3 server, OpenStack Swift, on a port of its own. */
export class SwiftServer {
  readonly #dir: string;
  #port = '';
  #process: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #buckets = 0;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /** Starts a server, which ends with all it stores when the test ends. */
  static async start(t: Scope): Promise<SwiftServer> {
    const server = new SwiftServer(await tempDir(t));
    t.teardown(() => server.#stop());
    await server.start();
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts it again after `kill`, on the same port with what it had stored. */
  async start(): Promise<void> {
    const script = new URL('swift-server.py', import.meta.url).pathname;
    const args = [script, ACCESS_KEY, SECRET_KEY, this.#dir, ...(this.#port === '' ? [] : [this.#port])];
    const server = spawn(program('python3'), args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#process = server;
    const closed = once(server, 'close');
    let errors = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    this.#port = await new Promise<string>((resolve, reject) => {
      createInterface({ input: server.stdout }).on('line', (line) => {
        const [, port] = /^READY (\d+)$/.exec(line) ?? [];
        if (port) resolve(port);
      });
      closed.then(() => reject(new Error(`Swift ended: ${errors}`)));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Kills it; what it has stored stays. */
  async kill(): Promise<void> {
    const closed = once(this.#process!, 'close');
    this.signal('SIGKILL');
    await closed;
  }

  async #stop(): Promise<void> {
    const server = this.#process;
    if (server?.exitCode !== null || server.signalCode !== null) return;
    const closed = once(server, 'close');
    this.signal('SIGCONT');
    server.stdin.end();
    await closed;
  }

  /** A new bucket, empty. */
  async bucket(name?: string): Promise<S3Place> {
    this.#buckets += 1;
    const place = this.place(name ?? `notes-${this.#buckets}`);
    const client = clientOf(place);
    await client.send(new CreateBucketCommand({ Bucket: place.bucket }));
    client.destroy();
    return place;
  }

  /** A bucket by its name, which need not be there. */
  place(bucket: string): S3Place {
    const { endpoint } = this;
    return { endpoint, bucket, region: 'us-east-1', accessKey: ACCESS_KEY, secretKey: SECRET_KEY };
  }
}

/** A client with nothing around it. */
export function clientOf({ endpoint, region, accessKey, secretKey }: S3Place): S3Client {
  return new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}
