import { parseIsoTime } from '../../feeds/iso-time.ts';
import { isFeedName, isReadId } from '../../feeds/names.ts';
import { parseObject } from '../metadata.ts';
import type { OperatorRecord, OperatorRecordKind } from '../operator-records.ts';
import { BLOCKED_FILE, BLOCKLIST_FILE, REPORTS_FILE, TOMBSTONES_FILE } from './names.ts';

/** How the records of a kind are kept in a file of the data folder, one in each line. */
interface RecordLines {
  readonly file: string;
  /** The record of a line; undefined for one that cannot be read. */
  parse(line: string): OperatorRecord | undefined;
  /** With the end of the line. */
  lineOf(record: OperatorRecord): string;
}

/** `.tombstones` and `.blocklist` are the reference's files, too: in its lines there is a key alone. */
export const RECORD_LINES: Readonly<Record<OperatorRecordKind, RecordLines>> = {
  name: tabbed('name', BLOCKED_FILE, { keyIn: (text) => (isFeedName(text) ? text : undefined) }),
  link: tabbed('link', TOMBSTONES_FILE, { keyIn: (text) => (isReadId(text) ? text : undefined) }),
  picture: tabbed('picture', BLOCKLIST_FILE, {
    keyIn: (text) =>
      /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex').toString('base64url') : undefined,
    textOf: (key) => Buffer.from(key, 'base64url').toString('hex'),
  }),
  report: {
    file: REPORTS_FILE,
    parse: (line) => {
      const { id, at, report } = parseObject(line) ?? {};
      if (typeof id !== 'string' || typeof report !== 'string') return undefined;
      return { kind: 'report', key: id, value: report, at: parseIsoTime(String(at)) || 0 };
    },
    lineOf: ({ key, value, at }) =>
      `${JSON.stringify({ id: key, at: new Date(at).toISOString(), report: value })}\n`,
  },
};

export const RECORD_KINDS = Object.keys(RECORD_LINES) as OperatorRecordKind[];
export const RECORD_FILES: readonly string[] = Object.values(RECORD_LINES).map(({ file }) => file);
/** The files of which a change by hand counts while the service runs, because people write them; that of others at the next start. */
export const WATCHED_RECORD_FILES: readonly string[] = [BLOCKED_FILE, TOMBSTONES_FILE, BLOCKLIST_FILE];

/**
 * The records in the text of a file, by their keys: of lines with the same key the first. Lines that are empty or begin with "#"
 * say nothing.
 */
export function parseRecords(
  kind: OperatorRecordKind,
  text: string,
): { readonly records: Map<string, OperatorRecord>; readonly unread: number } {
  const records = new Map<string, OperatorRecord>();
  let unread = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const record = RECORD_LINES[kind].parse(line);
    if (!record) unread += 1;
    else if (!records.has(record.key)) records.set(record.key, record);
  }
  return { records, unread };
}

interface KeyText {
  /** The key that a text means; undefined if it means none. */
  keyIn(text: string): string | undefined;
  /** The text of a key; the key itself unless given. */
  textOf?(key: string): string;
}

/** Lines that begin with a key; behind it the time and the value, as JSON because of its line ends, each behind a tab. */
function tabbed(
  kind: OperatorRecordKind,
  file: string,
  { keyIn, textOf = (key) => key }: KeyText,
): RecordLines {
  return {
    file,
    parse(line) {
      const [text = '', at = '', ...rest] = line.split('\t');
      const key = keyIn(text.trim());
      return key === undefined
        ? undefined
        : { kind, key, value: valueIn(rest.join('\t')), at: parseIsoTime(at) || 0 };
    },
    lineOf: ({ key, value, at }) =>
      `${[textOf(key), new Date(at).toISOString(), JSON.stringify(value)].join('\t')}\n`,
  };
}

/** What people wrote by hand may be any text. */
function valueIn(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : text;
  } catch {
    return text;
  }
}
