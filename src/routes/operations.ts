import type { Access } from '../access/access.ts';
import type { ImageOperator } from '../images/image-operator.ts';
import type { Editing } from '../ingest/edit.ts';
import type { FeedSettingsWriter } from '../ingest/feed-settings.ts';
import type { Licensing } from '../ingest/licensing.ts';
import type { Posting } from '../ingest/post.ts';
import type { Takedown } from '../ingest/takedown.ts';
import type { FeedEvents } from '../live/feed-events.ts';
import type { LegalTexts } from '../read/legal-texts.ts';
import type { Reader } from '../read/reader.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { FeedLimits } from '../storage/storage.ts';
import type { Assets } from '../web/assets.ts';
import type { Site } from '../web/site.ts';
import { accessOperations } from './access-operations.ts';
import { eventOperations } from './event-operations.ts';
import { feedOperations } from './feed-operations.ts';
import { licenseOperations } from './license-operations.ts';
import { type McpOperationParts, mcpOperation } from './mcp-operation.ts';
import type { MetricsSource } from './metrics-operation.ts';
import { metricsOperation } from './metrics-operation.ts';
import { noteOperations } from './note-operations.ts';
import { type OAuthOperationParts, oauthOperations } from './oauth-operations.ts';
import { openApiOperation } from './openapi-operation.ts';
import type { DescribedOperation } from './operation.ts';
import { operatorOperations } from './operator-operations.ts';
import { pageOperations } from './page-operations.ts';
import { previewOperation } from './preview-operation.ts';
import { readOperations } from './read-operations.ts';
import { serviceOperations } from './service-operations.ts';
import { settingsOperations } from './settings-operations.ts';
import { signInOperations } from './sign-in-operations.ts';
import { siteOperations } from './site-operations.ts';

/** What the operations work with. */
export interface OperationParts {
  readonly posting: Posting;
  readonly editing: Editing;
  readonly settings: FeedSettingsWriter;
  readonly reader: Reader;
  /** What a feed may hold. */
  readonly limits: FeedLimits;
  /** Where feeds need a license. */
  readonly licensing: Licensing | undefined;
  /** Largest picture, bytes. */
  readonly maxImageBytes: number;
  readonly events: FeedEvents;
  readonly site: Site;
  readonly legalTexts: LegalTexts;
  readonly assets: Assets;
  readonly access: Access;
  /** How people sign in; undefined where they do not. */
  readonly signIn: SignIn | undefined;
  readonly images: ImageOperator;
  readonly takedown: Takedown;
  /** Absolute base of links, if it is set. */
  readonly publicUrl: string | undefined;
  readonly oauth: OAuthOperationParts['oauth'];
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
    ...accessOperations(parts),
    ...signInOperations(parts),
    ...settingsOperations(parts),
    ...siteOperations(parts),
    ...noteOperations(parts),
    ...feedOperations(parts),
    ...licenseOperations(parts),
    ...readOperations(parts),
    ...eventOperations(parts),
    ...operatorOperations(parts),
    previewOperation(parts),
    mcpOperation(parts),
    ...oauthOperations(parts),
    metricsOperation(parts.metrics),
  ];
  return [...table, openApiOperation(table, parts.publicUrl)];
}
