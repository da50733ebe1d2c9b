/**
 * Records that operators make when they close something, and readers when they report something. Their keys are
 * - of a `name`: the name of a feed that is closed,
 * - of a `link`: the read id of a feed that was removed,
 * - of a `picture`: the SHA-256 of its bytes in base64url,
 * - of a `report`: its id.
 */
export type OperatorRecordKind = 'name' | 'link' | 'picture' | 'report';

export interface OperatorRecord {
  readonly kind: OperatorRecordKind;
  /** At most 64 characters of ASCII. */
  readonly key: string;
  /** For people; of a report its JSON. At most 16 KB. */
  readonly value: string;
  /** Ms since the epoch. */
  readonly at: number;
}

/** The records of all processes that use the storage. They are few, and lists of them are bounded. */
export interface OperatorRecords {
  /**
   * Adds a record; false if there is one of its kind and key, which stays as it is. That of a name closes the feed of that name,
   * too: no write that adds something comes between the two, or is stored afterwards. Settles when it is durable.
   */
  add(record: OperatorRecord): Promise<boolean>;
  /** Removes a record, and opens the feed of a name again; false if there was none. */
  remove(kind: OperatorRecordKind, key: string): Promise<boolean>;
  /** Those of the keys that there are. */
  find(kind: OperatorRecordKind, keys: readonly string[]): Promise<readonly OperatorRecord[]>;
  /** The records of a kind after a key, in the order of their keys. */
  list(
    kind: OperatorRecordKind,
    page: { readonly after: string; readonly limit: number },
  ): Promise<readonly OperatorRecord[]>;
  count(kind: OperatorRecordKind): Promise<number>;
}
