/** Our content codings, best first. */
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

/** Clients send few different values, so a cache keeps the parser off the hot path. */
const cache = new Map<string, Coding | undefined>();
const CACHE_MAX = 256;

/**
 * The coding with the greatest weight in `Accept-Encoding` (RFC 9110 §12.5.3), brotli before gzip; undefined for identity,
 * which is always acceptable.
 */
export function preferredCoding(header: string | undefined): Coding | undefined {
  if (header === undefined || header === '') return undefined;
  let coding = cache.get(header);
  if (coding === undefined && !cache.has(header)) {
    coding = negotiate(header);
    // Else made-up values would fill the cache for good.
    if (cache.size >= CACHE_MAX) cache.clear();
    cache.set(header, coding);
  }
  return coding;
}
