import type { QueryResultRow } from 'pg';

/** A statement that each connection prepares when it first needs it. `R` is a row of its result. */
export interface Statement<R extends QueryResultRow> {
  readonly name: string;
  readonly text: string;
  /** Only for the compiler. */
  readonly row?: R;
}

/** The texts of all statements by their names: each has a plan that uses an index, which a test makes sure of. */
export const STATEMENTS = new Map<string, string>();

/** Defines a statement under a name of its own. */
export function statement<R extends QueryResultRow = never>(name: string, text: string): Statement<R> {
  if (STATEMENTS.has(name)) throw new TypeError(`There is a statement "${name}" already`);
  STATEMENTS.set(name, text);
  return { name, text };
}
