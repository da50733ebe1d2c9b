import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Place } from '../../src/images/s3-store.ts';
import { program } from './installed.ts';

const ACCESS_KEY = 'notes:tester';
const SECRET_KEY = 'a-secret-key-of-tests';

interface Scope {
  teardown(fn: () => unknown): void;
}

/** A real S3 server, OpenStack Swift, on a port of its own. */
export class SwiftServer {
  readonly endpoint: string;
  #buckets = 0;

  private constructor(port: string) {
    this.endpoint = `http://127.0.0.1:${port}`;
  }

  /** Starts a server, which ends with all it stores when the test ends. */
  static async start(t: Scope): Promise<SwiftServer> {
    const script = new URL('swift-server.py', import.meta.url).pathname;
    const server = spawn(program('python3'), [script, ACCESS_KEY, SECRET_KEY], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const closed = once(server, 'close');
    t.teardown(async () => {
      server.stdin.end();
      await closed;
    });
    let errors = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const ready = new Promise<string>((resolve, reject) => {
      createInterface({ input: server.stdout }).on('line', (line) => {
        const [, port] = /^READY (\d+)$/.exec(line) ?? [];
        if (port) resolve(port);
      });
      closed.then(() => reject(new Error(`Swift ended: ${errors}`)));
    });
    return new SwiftServer(await ready);
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
