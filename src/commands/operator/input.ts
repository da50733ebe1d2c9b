import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type FeedName, isFeedName } from '../../feeds/names.ts';

/** What is typed or piped in, line by line. */
export class Input {
  #piped: string[] | undefined;

  /** The name of a feed; "-" is one that is typed, or the next line. Throws if it is none, and does not repeat it. */
  async feedName(word: string): Promise<FeedName> {
    const name = word === '-' ? (await this.secret('Name of the feed: ')).trim() : word;
    if (isFeedName(name)) return name;
    throw new Error('This is not the name of a feed: 1 to 64 characters of a-z, 0-9, - and _.');
  }

  /** A password that is typed twice, or the next line. Throws if the two differ. */
  async newPassword(): Promise<string> {
    const password = await this.secret('New password: ');
    if (process.stdin.isTTY && (await this.secret('Again: ')) !== password)
      throw new Error('The two passwords differ: nothing is changed.');
    return password;
  }

  /** What is typed without being shown, or the next line. */
  async secret(question: string): Promise<string> {
    if (process.stdin.isTTY) return typed(question);
    // A synchronous read would not wait: Node has made the pipe non-blocking.
    this.#piped ??= (await text(process.stdin)).split(/\r?\n/);
    return this.#piped.shift() ?? '';
  }
}

async function typed(question: string): Promise<string> {
  const unseen = new Writable({ write: (_bytes, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true });
  process.stderr.write(question);
  try {
    return await new Promise((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('close', () => reject(new Error('Nothing is changed.')));
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
