import { forgetIfShared, readShared, type SharedContent } from './shared.ts';

const NAMES = ['text', 'title', 'tags', 'shared'];

/**
 * What the address of the page brings to the box: `?text=…&title=…&tags=…`, or with `?shared=1` what another app has shared.
 * @returns undefined if it brings nothing
 */
export async function prefill(): Promise<SharedContent | undefined> {
  const query = new URLSearchParams(location.search);
  if (!NAMES.some((name) => query.has(name))) return undefined;
  if (query.has('shared')) return readShared().catch(() => undefined);
  const value = (name: string) => query.get(name)?.trim() ?? '';
  return { text: value('text'), title: value('title'), tags: value('tags'), files: [] };
}

/** Forgets what the address brought, so that loading the page again does not bring it a second time. */
export async function forgetPrefill(brought: SharedContent): Promise<void> {
  const url = new URL(location.href);
  if (url.searchParams.has('shared')) await forgetIfShared(brought);
  for (const name of NAMES) url.searchParams.delete(name);
  history.replaceState(history.state, '', url);
}
