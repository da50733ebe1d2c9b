import { Batcher } from '../batcher.ts';
import { CHANGE_CHANNEL } from './change-notice.ts';
import { Database } from './database.ts';
import { statement } from './transaction.ts';

/**
 * No transaction that writes notifies: a commit with a notice waits for all others of the server that have one. Nothing is lost
 * with a notice, so its commit need not wait for the disk.
 */
const NOTIFY = statement<object>('notify')`
  SELECT pg_notify('${CHANGE_CHANNEL}', payload), set_config('synchronous_commit', 'off', true) FROM unnest($1::text[]) AS payload`;

/** Tells the other processes at once of what was committed, on a connection of its own. What it cannot tell, they find by asking. */
export class ChangeNotifier {
  readonly #database: Database;
  readonly #payloads = new Batcher<string>((payloads) =>
    this.#database.read(NOTIFY, [payloads]).then(ignore, ignore),
  );

  constructor(url: string) {
    this.#database = new Database(url, { connections: 1 });
  }

  /** @param payloads of `encodeChanges` */
  tell(payloads: readonly string[]): void {
    for (const payload of payloads) this.#payloads.add(payload);
  }

  /** Waits for the notices that are on their way. */
  async close(): Promise<void> {
    await this.#database.close();
  }
}

function ignore(): void {}
