import { errorCode } from '../../system-errors.ts';
import { WrongDatabase } from './schema.ts';

const UNKNOWN_AUTHORITY = 'no known authority vouches for its certificate, see sslrootcert';

/** What the operator can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  '28P01': 'wrong user or password',
  '28000': 'this user may not connect',
  '3D000': 'no such database',
  '42501': 'this user may not make tables there',
  '53300': 'too many connections',
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
  if (error instanceof WrongDatabase) return error;
  const code = errorCode(error);
  // Without a code it is the client's own message, which names nothing.
  const reason = code === undefined ? (error as Error).message : REASONS[code];
  const why = [code, reason].filter((part) => part !== undefined).join(': ');
  return new Error(`The database named by SERVICE_DATABASE_URL cannot be used (${why}).`);
}
