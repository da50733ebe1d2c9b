import type { Exchange } from '../http/exchange.ts';
import { readIdOf } from '../read/reader.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { NEW_FEED_ERRORS, type OperationDocs, READ_ERRORS } from './operation-docs.ts';

export function eventOperations({ events }: OperationParts): DescribedOperation[] {
  const open = { access: 'public', cors: true, docs: PUBLIC } as const;
  const named = { access: 'reader', docs: BY_NAME } as const;
  return [
    operation('readEvents', 'GET /r/{readId}/events', open, (exchange) =>
      events.byReadId(readIdOf(exchange), exchange.client, sinceOf(exchange)),
    ),
    operation('feedEvents', 'GET /api/v1/feeds/{feed}/events', named, (exchange, { name, feed, caller }) =>
      events.byName(name, feed, caller, sinceOf(exchange)),
    ),
  ];
}

/** Browsers send the last event's version when they reconnect; a first request names the version the page shows. */
function sinceOf(exchange: Exchange): string | undefined {
  return exchange.header('last-event-id') || exchange.query('since') || undefined;
}

const EVENTS = {
  summary: 'Hear of changes as they happen',
  description:
    'The stream is for `EventSource` (https://html.spec.whatwg.org/multipage/server-sent-events.html). `event: changed` ' +
    'says that the feed has changed, not what: ask for it again. Its `id`, which is also its `data`, is the version of ' +
    'the feed, opaque and another one after every change. Changes that follow each other closely may be one event. The ' +
    'first event comes at once if the version that the client has is not the one of the feed. A comment comes where ' +
    'nothing else does for 15 seconds. One client may have 20 streams open.',
  parameters: ['lastEventId', 'since'],
  answers: {
    200: {
      description: 'The stream, which stays open.',
      headers: ['Cache-Control', 'X-Accel-Buffering'],
      content: { 'text/event-stream': 'text' },
    },
  },
} as const satisfies Partial<OperationDocs>;

const PUBLIC: OperationDocs = { ...EVENTS, tag: 'Reading', refusals: READ_ERRORS };

const BY_NAME: OperationDocs = {
  ...EVENTS,
  tag: 'Feeds',
  description:
    `${EVENTS.description}\n\nThe feed need not exist: the stream tells when it is made. The stream ends when the feed is ` +
    'deleted, and when its password is changed, set or removed. One that was opened with the session of a browser ends ' +
    'with it.',
  refusals: NEW_FEED_ERRORS,
};
