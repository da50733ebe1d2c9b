import type { Editing } from '../ingest/edit.ts';
import type { FeedSettingsWriter } from '../ingest/feed-settings.ts';
import type { Posting } from '../ingest/post.ts';
import type { FeedEvents } from '../live/feed-events.ts';
import type { Reader } from '../read/reader.ts';
import type { FeedLimits } from '../storage/storage.ts';
import type { Assets } from '../web/assets.ts';
import type { Site } from '../web/site.ts';
import { eventOperations } from './event-operations.ts';
import { feedOperations } from './feed-operations.ts';
import { type McpOperationParts, mcpOperation } from './mcp-operation.ts';
import type { MetricsSource } from './metrics-operation.ts';
import { metricsOperation } from './metrics-operation.ts';
import { noteOperations } from './note-operations.ts';
import { type OAuthOperationParts, oauthOperations } from './oauth-operations.ts';
import { openApiOperation } from './openapi-operation.ts';
import type { DescribedOperation } from './operation.ts';
import { pageOperations } from './page-operations.ts';
import { readOperations } from './read-operations.ts';
import { serviceOperations } from './service-operations.ts';

/** What the operations work with. */
export interface OperationParts {
  readonly posting: Posting;
  readonly editing: Editing;
  readonly settings: FeedSettingsWriter;
  readonly reader: Reader;
  /** What a feed may hold. */
  readonly limits: FeedLimits;
  /** Largest picture, bytes. */
  readonly maxImageBytes: number;
  readonly events: FeedEvents;
  readonly site: Site;
  readonly assets: Assets;
  /** Absolute base of links, if it is set. */
  readonly publicUrl: string | undefined;
  /** Who may. */
  readonly access: McpOperationParts['access'] & OAuthOperationParts['access'];
  readonly oauth: OAuthOperationParts['oauth'];
  readonly sessions: OAuthOperationParts['sessions'];
  /** Told of every call of a tool. */
  readonly observeTool: McpOperationParts['observeTool'];
  /** What Prometheus may ask for; undefined where metrics are off. */
  readonly metrics: MetricsSource | undefined;
  /** Why the service cannot take requests now, in one word; undefined when it can. */
  readiness(): Promise<string | undefined>;
}

/** The one table of operations: routing, access, logs and descriptions all read it. */
export function operations(parts: OperationParts): DescribedOperation[] {
  const table = [
    ...serviceOperations(parts),
    ...pageOperations(parts),
    ...noteOperations(parts),
    ...feedOperations(parts),
    ...readOperations(parts),
    ...eventOperations(parts),
    mcpOperation(parts),
    ...oauthOperations(parts),
    metricsOperation(parts.metrics),
  ];
  return [...table, openApiOperation(table, parts.publicUrl)];
}
