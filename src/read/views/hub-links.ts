import { jsonFeedUrl, rssUrl } from '../../feeds/urls.ts';
import type { ComposeTask } from './compose.ts';

/** The addresses that hubs are told when a view changes. Of the page its RSS, because hubs distribute no pages. */
const TOPICS = { rss: rssUrl, 'json-feed': jsonFeedUrl, 'read-page': rssUrl } as const;

/** `Link` for subscribers of WebSub (https://www.w3.org/TR/websub/#discovery); undefined if no hub distributes the view. */
export function hubLinks({ view, document }: ComposeTask): string | undefined {
  if (view !== 'rss' && view !== 'json-feed' && view !== 'read-page') return undefined;
  const { base, readId, hubs = [] } = document;
  if (hubs.length === 0) return undefined;
  const links = hubs.map((hub) => `<${hub}>; rel="hub"`);
  return [...links, `<${TOPICS[view](base, readId)}>; rel="self"`].join(', ');
}
