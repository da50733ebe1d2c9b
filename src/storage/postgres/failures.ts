import { DatabaseError } from 'pg';
import { Refusal } from '../../refusals.ts';
import { errorCode } from '../../system-errors.ts';
import { storageFull, storeUnavailable } from '../failures.ts';

/**
 * Classes of SQLSTATE for failures of the database, not of the statement: connection, authorization, unknown database,
 * rollback, resources, locks, operator intervention, system error, read-only transaction, corruption.
 */
const UNAVAILABLE = /^(08|28|3D|40|53|55|57|58|25|XX)/;
/** The tables are gone, are others than before, or may not be used: what is prepared for them is of no use. */
export const NO_TABLES = /^(0A000|3F000|42501|42703|42P01)$/;
/** The user lacks a privilege. */
export const NOT_ALLOWED = '42501';
const DISK_FULL = '53100';
const READ_ONLY = '25006';
/** Rolled back because of another transaction, for example a deadlock, or because of damage in a row. */
const TAKEN_BACK = /^(40|XX)/;
const UNIQUE_VIOLATION = '23505';
/** A lock was waited for too long, or in a circle. */
const LOCKED_BY_OTHERS = /^(55P03|40P01)$/;

/**
 * A failure of the client or the server as the refusal it means. What should not happen stays an error. Neither holds
 * anything but a code: messages of the server quote values, and those of the network name the server.
 */
export function asFailure(error: unknown): Error {
  const code = errorCode(error);
  const cause = Object.assign(new Error(`PostgreSQL: ${code ?? (error as Error).message}`), { code });
  if (!(error instanceof DatabaseError)) return storeUnavailable(cause);
  if (code === DISK_FULL) return storageFull(cause);
  return UNAVAILABLE.test(code ?? '') || NO_TABLES.test(code ?? '') ? storeUnavailable(cause) : cause;
}

/** Whether the connection must be closed after this error: it is lost or hangs, or its server takes no writes or has no tables. */
export function endsConnection(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return true;
  const { severity, code = '' } = error;
  return severity === 'FATAL' || severity === 'PANIC' || code === READ_ONLY || NO_TABLES.test(code);
}

/** Whether calls that failed together may succeed one by one: the database can be used, and nothing was stored. */
export function mayWorkAlone(failure: unknown): boolean {
  if (!(failure instanceof Refusal) || failure.code !== 'store_unavailable') return true;
  return TAKEN_BACK.test(errorCode(failure.cause) ?? '');
}

export function isUniqueViolation(failure: unknown): boolean {
  return errorCode(failure) === UNIQUE_VIOLATION;
}

/** Whether a transaction was ended because others hold locks: it may succeed later. */
export function isLockedByOthers(error: unknown): boolean {
  return LOCKED_BY_OTHERS.test(errorCode(error) ?? '');
}

/** The database cannot be used. Its message is a sentence for the operator. */
export class UnusableDatabase extends Error {}

const UNKNOWN_AUTHORITY = 'no known authority vouches for its certificate, see sslrootcert';

/** Failures that the operator can mend. */
const REASONS: Readonly<Record<string, string>> = {
  '28P01': 'wrong user or password',
  '28000': 'this user may not connect',
  '3D000': 'no such database',
  '42501': 'this user may not make tables there',
  '53300': 'too many connections',
  '55P03': 'its tables are in use by others, such as a backup',
  '57P03': 'the server is still starting',
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'unknown host',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

/** Why the database cannot be opened, as a sentence for the operator that holds nothing of its URL. */
export function asStartFailure(error: unknown): Error {
  if (error instanceof UnusableDatabase) return error;
  const code = errorCode(error);
  // Without a code it is the client's own message, which names nothing.
  const reason = code === undefined ? (error as Error).message : REASONS[code];
  const why = [code, reason].filter((part) => part !== undefined).join(': ');
  return new Error(`The database named by SERVICE_DATABASE_URL cannot be used (${why}).`);
}
