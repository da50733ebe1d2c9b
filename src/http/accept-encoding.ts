/** The codings we compress with, in the order we prefer them. */
export const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

function negotiate(header: string): Coding | undefined {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(coding, q === undefined ? 1 : Number(q.slice(2)) || 0);
  }
  const weight = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  let best: Coding | undefined;
  for (const coding of CODINGS) if (weight(coding) > (best ? weight(best) : 0)) best = coding;
  return best && weight(best) >= (weights.get('identity') ?? 0) ? best : undefined;
}

/** Clients send few different values; remembering them keeps the parser off the hot path. */
const remembered = new Map<string, Coding | undefined>();
const REMEMBERED_MAX = 256;

/**
 * The coding to answer with for an `Accept-Encoding` value (RFC 9110 §12.5.3): the one with the greatest
 * weight, brotli before gzip; undefined for the bytes as they are, which are always acceptable.
 */
export function preferredCoding(header: string | undefined): Coding | undefined {
  if (header === undefined || header === '') return undefined;
  let coding = remembered.get(header);
  if (coding === undefined && !remembered.has(header)) {
    coding = negotiate(header);
    // Made-up values must not keep the usual ones out for good.
    if (remembered.size >= REMEMBERED_MAX) remembered.clear();
    remembered.set(header, coding);
  }
  return coding;
}
