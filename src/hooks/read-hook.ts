import type { FeedName } from '../feeds/names.ts';
import { Refusal } from '../refusals.ts';
import { parseMessage } from '../requests/bodies.ts';
import { isUrlencoded } from '../requests/content-type.ts';
import type { WorkerPool } from '../worker-pool.ts';
import type { HookNote } from './hook.ts';
import { HOOK_KINDS } from './kinds.ts';
import { refuseDeep } from './members.ts';

/** Larger bodies are read on a thread, because 256 KB of marks may take 200 ms. */
const INLINE_MAX_BYTES = 16 * 1024;
/** The most values of a body: a push may name thousands of files. */
const MAX_VALUES = 150_000;

/** A request of a sender, as it can be copied to a thread. */
export interface HookRequest {
  /** One of `HOOK_KINDS`. */
  readonly kind: string;
  /** The name of the feed: a secret, so no note may show it. */
  readonly feed: FeedName;
  readonly contentType: string | undefined;
  /** Those that the kind looks at, by their lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** The notes of a request; none for what nobody watches. */
export type ReadHook = (request: HookRequest) => Promise<readonly HookNote[]>;

/**
 * Reads a request, on a thread of the pool if it is large.
 * @throws Refusal `invalid_body`, `invalid_request`; `busy` if too many tasks wait for the pool
 */
export async function readHook(pool: Pick<WorkerPool, 'run'>, request: HookRequest) {
  if (request.body.length <= INLINE_MAX_BYTES) return notesOf(request);
  const outcome = (await pool.run('read-hook', request)) as HookOutcome;
  if ('code' in outcome) throw new Refusal(outcome.code, outcome.message);
  return outcome.notes;
}

/** A refusal would come from a thread without its code. */
export type HookOutcome = { readonly notes: readonly HookNote[] } | Pick<Refusal, 'code' | 'message'>;

/**
 * The notes of a request.
 * @throws Refusal `invalid_body`, `invalid_request`
 */
export function notesOf({ kind, feed, contentType, headers, body }: HookRequest): readonly HookNote[] {
  const { takesForm, notes } = HOOK_KINDS.get(kind)!;
  const payload = payloadOf(body, takesForm === true && isUrlencoded(contentType));
  refuseDeep(payload);
  return notes(withoutAddress(payload, hookAddress(feed)), (name) => headers[name]);
}

/** Finds the address of a hook: also within another address, which escapes its slashes, and in JSON in a text, which may escape them. */
function hookAddress(feed: FeedName): RegExp {
  const slash = String.raw`(?:\\?/|%2F)`;
  return new RegExp(['', 'feeds', feed, 'hooks', ''].join(slash), 'i');
}

/**
 * The payload without the words that contain the address to which it was sent. Some senders put that address into the payload, such as
 * GitHub's ping. It contains the name of the feed, and perhaps passwords, and readers see the notes.
 */
function withoutAddress(value: unknown, address: RegExp): unknown {
  if (typeof value === 'string') return withoutWords(value, address);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => withoutAddress(one, address));
  const members = Object.entries(value);
  return Object.fromEntries(
    members.map(([name, one]) => [withoutWords(name, address), withoutAddress(one, address)]),
  );
}

function withoutWords(text: string, address: RegExp): string {
  if (!address.test(text)) return text;
  return text
    .split(/(\s+)/)
    .map((word) => (address.test(word) ? '…' : word))
    .join('');
}

/** The JSON of a body. Its `Content-Type` tells a form only, because senders name JSON in many ways. */
function payloadOf(body: Uint8Array, mayBeForm: boolean): unknown {
  const field = mayBeForm ? new URLSearchParams(Buffer.from(body).toString()).get('payload') : null;
  const payload = parseMessage(field === null ? body : Buffer.from(field), MAX_VALUES);
  if (payload !== undefined) return payload;
  const what = field === null ? 'The body' : 'The field "payload"';
  throw new Refusal('invalid_body', `${what} is not JSON in UTF-8, or has too many values.`);
}
