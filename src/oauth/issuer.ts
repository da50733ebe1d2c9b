/** The place of an instance in OAuth. */
export interface Issuer {
  /** Its address, without a slash at the end. */
  readonly base: string;
  /** Ms since the epoch. */
  readonly now: number;
}

/** What tokens are for: the tools of an instance (RFC 8707). */
export function resourceOf(base: string): string {
  return `${base}/mcp`;
}
