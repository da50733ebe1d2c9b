import pLimit from 'p-limit';
import { NoteIds } from '../feeds/ids.ts';
import { isNoteId } from '../feeds/names.ts';
import { oneLine } from '../feeds/text.ts';
import { existing, Refusal } from '../refusals.ts';
import type { OperatorRecord, OperatorRecords } from '../storage/operator-records.ts';

/** The most reports that wait for the operator. */
const MAX_OPEN = 10_000;
/** When a client may try again if there is no room, seconds. */
const FULL_RETRY_SECONDS = 3600;
/** Longest texts of a report, in characters. */
export const REASON_LENGTH = 2_000;
export const CONTACT_LENGTH = 200;
/** Longest path of a reported address, in characters. A note id has at most 251 bytes on files, each of which takes three of them. */
const TARGET_LENGTH = 1_000;

/** What somebody reports. */
interface Reported {
  /** A path below `/r/`. */
  readonly target: string;
  readonly reason: string;
  /** Empty for none. */
  readonly contact: string;
}

interface Report extends Reported {
  readonly id: string;
  /** Ms since the epoch. */
  readonly at: number;
}

/** Reports by readers, which wait for the operator. */
export class Reports {
  readonly #records: OperatorRecords;
  readonly #ids = new NoteIds();
  /** One after the other, because each counts those before it. */
  readonly #inTurn = pLimit(1);

  constructor(records: OperatorRecords) {
    this.#records = records;
  }

  /** A report as it may be stored. Throws a Refusal `invalid_request` with the field to blame. */
  check({ target, reason, contact }: Reported): Reported {
    return {
      target: checkedTarget(target),
      reason: checkedReason(reason),
      contact: oneLine('contact', contact, CONTACT_LENGTH),
    };
  }

  /**
   * Stores a report that was checked. Several processes may each store one too many.
   * @throws Refusal `busy` if too many are open
   */
  add(report: Reported): Promise<void> {
    return this.#inTurn(async () => {
      if ((await this.#records.count('report')) >= MAX_OPEN)
        throw new Refusal('busy', 'There are too many open reports: please try again later.', {
          retryAfter: FULL_RETRY_SECONDS,
        });
      const value = JSON.stringify(report);
      await this.#records.add({ kind: 'report', key: this.#ids.next(), value, at: Date.now() });
    });
  }

  /**
   * Open reports, the oldest first.
   * @param after id of the last report of the page before; empty for the first page
   */
  async list(
    limit: number,
    after: string,
  ): Promise<{ readonly reports: readonly Report[]; readonly next: string | undefined }> {
    const found = await this.#records.list('report', { after, limit: limit + 1 });
    const next = found.length > limit ? found[limit - 1]!.key : undefined;
    return { reports: found.slice(0, limit).map(reportIn), next };
  }

  /** @throws Refusal `not_found` */
  async remove(id: string): Promise<void> {
    existing((isNoteId(id) && (await this.#records.remove('report', id))) || undefined, 'report');
  }
}

function reportIn({ key: id, value, at }: OperatorRecord): Report {
  return { ...(JSON.parse(value) as Reported), id, at };
}

function checkedTarget(target: string): string {
  if (target.length <= TARGET_LENGTH) return target;
  throw new Refusal('invalid_request', 'The address is too long.', { field: 'target' });
}

function checkedReason(text: string): string {
  const reason = text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, ' ')
    .trim();
  if (reason === '') throw new Refusal('invalid_request', 'Say what is wrong with it.', { field: 'reason' });
  if ([...reason].length > REASON_LENGTH)
    throw new Refusal('invalid_request', `The reason may have at most ${REASON_LENGTH} characters.`, {
      field: 'reason',
    });
  return reason;
}
