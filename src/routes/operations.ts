import type { Access } from '../access/access.ts';
import type { ImageOperator } from '../images/image-operator.ts';
import type { Editing } from '../ingest/edit.ts';
import type { FeedSettingsWriter } from '../ingest/feed-settings.ts';
import type { Licensing } from '../ingest/licensing.ts';
import type { Posting } from '../ingest/post.ts';
import type { Takedown } from '../ingest/takedown.ts';
import type { FeedEvents } from '../live/feed-events.ts';
import type { OAuth } from '../oauth/oauth.ts';
import type { LegalTexts } from '../read/legal-texts.ts';
import type { Reader } from '../read/reader.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { ToolOutcome } from '../telemetry/events.ts';
import type { Assets } from '../web/assets.ts';
import type { Site } from '../web/site.ts';
import type { FeedLimits } from '../writing/limits.ts';
import { accessOperations } from './access-operations.ts';
import { eventOperations } from './event-operations.ts';
import { feedOperations } from './feed-operations.ts';
import { licenseOperations } from './license-operations.ts';
import { mcpOperation } from './mcp-operation.ts';
import { noteOperations } from './note-operations.ts';
import { oauthOperations } from './oauth-operations.ts';
import type { DescribedOperation } from './operation.ts';
import { operatorOperations } from './operator-operations.ts';
import { siteOperations, startOperations } from './page-operations.ts';
import { readOperations } from './read-operations.ts';
import { type MetricsSource, openApiOperation, serviceOperations } from './service-operations.ts';
import { settingsOperations } from './settings-operations.ts';
import { signInOperations } from './sign-in-operations.ts';

export interface OperationParts {
  readonly posting: Posting;
  readonly editing: Editing;
  readonly settings: FeedSettingsWriter;
  readonly reader: Reader;
  readonly limits: FeedLimits;
  /** Undefined if feeds need no license. */
  readonly licensing: Licensing | undefined;
  /** Largest picture, bytes. */
  readonly maxImageBytes: number;
  readonly events: FeedEvents;
  readonly site: Site;
  readonly legalTexts: LegalTexts;
  readonly assets: Assets;
  readonly access: Access;
  readonly signIn: SignIn | undefined;
  readonly images: ImageOperator;
  readonly takedown: Takedown;
  readonly publicUrl: string | undefined;
  /** Loads the OAuth server of a locked instance; undefined on an open one. */
  readonly oauth: (() => Promise<OAuth>) | undefined;
  readonly observeTool: (outcome: ToolOutcome) => void;
  /** Undefined if metrics are off. */
  readonly metrics: MetricsSource | undefined;
  /** Why the service cannot take requests now, in a word or two; undefined when it can. */
  readiness(): Promise<string | undefined>;
}

/** The one table of operations: routing, access, logs and the API description all read it. */
export function operations(parts: OperationParts): DescribedOperation[] {
  const table: DescribedOperation[] = [
    ...serviceOperations(parts),
    ...startOperations(parts),
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
    mcpOperation(parts),
    ...oauthOperations(parts),
    openApiOperation(() => table, parts.publicUrl),
  ];
  return table;
}
