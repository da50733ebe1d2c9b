/** The middle of some numbers; NaN where there are none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Of times in ms, for example `6.4 ms (median), 54.8 (p99), 66.2 (maximum)`. */
export function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  const maximum = sorted.at(-1) ?? Number.NaN;
  return `${median(times).toFixed(1)} ms (median), ${p99.toFixed(1)} (p99), ${maximum.toFixed(1)} (maximum)`;
}

/** The same numbers, each larger by one amount. */
export function shifted(values: readonly number[], by: number): number[] {
  return values.map((value) => value + by);
}

/** What the ranks of two samples say. */
export interface RankComparison {
  /** Chance of a difference at least this large between samples of one and the same distribution; two-sided. */
  readonly p: number;
  /** How often a value of the first sample is the larger of two; 0.5 where the samples are alike. */
  readonly chance: number;
}

/** The Mann-Whitney test of two large samples, by the normal approximation; ties have the mean of their ranks. */
export function mannWhitney(first: readonly number[], second: readonly number[]): RankComparison {
  const all = [
    ...first.map((value) => ({ value, isFirst: true })),
    ...second.map((value) => ({ value, isFirst: false })),
  ].sort((a, b) => a.value - b.value);
  let rankSum = 0;
  for (let start = 0, end = 0; start < all.length; start = end) {
    while (end < all.length && all[end]?.value === all[start]?.value) end++;
    const meanRank = (start + 1 + end) / 2;
    for (let n = start; n < end; n++) if (all[n]?.isFirst) rankSum += meanRank;
  }
  const pairs = first.length * second.length;
  const wins = rankSum - (first.length * (first.length + 1)) / 2;
  const deviation = Math.sqrt((pairs * (all.length + 1)) / 12);
  return { p: twoSided((wins - pairs / 2) / deviation), chance: wins / pairs };
}

/** Area of both tails of the normal distribution (Abramowitz and Stegun 26.2.17, error below 1e-7). */
function twoSided(z: number): number {
  const x = Math.abs(z);
  const t = 1 / (1 + 0.2316419 * x);
  const series =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return Math.min(1, (2 * series * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI));
}
