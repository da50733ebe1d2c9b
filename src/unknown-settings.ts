import type { Environment } from './setting.ts';

/**
 * What Kubernetes, and Docker with links, set in a container for each of their services whose name begins with
 * "service": names of addresses, and a URL of a transport protocol.
 */
const INJECTED_NAME =
  /^SERVICE_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const INJECTED_VALUE = /^(tcp|udp|sctp):\/\//;

/**
 * A sentence for each `SERVICE_…` variable that has a value and is neither a known one nor the `_FILE` twin of one. A
 * misspelled SERVICE_PASSWORD would open an instance to all. Never holds a value.
 */
export function unknownSettings(env: Environment, names: readonly string[]): string[] {
  const known = new Set(names.flatMap((name) => [name, `${name}_FILE`]));
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith('SERVICE_') && value && !known.has(name))
    .filter(([name, value]) => !INJECTED_NAME.test(name) && !INJECTED_VALUE.test(value!))
    .map(([name]) => `${name} is no setting of this service; the nearest one is ${nearest(name, known)}`);
}

/** Without the prefix, so that SERVICE_PORT is nearest to PORT. */
function nearest(name: string, known: ReadonlySet<string>): string {
  const bare = (text: string) => text.toUpperCase().replace('SERVICE_', '');
  let best = { candidate: '', edits: Number.POSITIVE_INFINITY };
  for (const candidate of known) {
    const edits = editDistance(bare(name), bare(candidate));
    if (edits < best.edits) best = { candidate, edits };
  }
  return best.candidate;
}

/** How many characters must be inserted, removed or replaced to make one text of the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...to].entries())
      next.push(Math.min(row[j]! + Number(letter !== wanted), row[j + 1]! + 1, next[j]! + 1));
    row = next;
  }
  return row.at(-1)!;
}
