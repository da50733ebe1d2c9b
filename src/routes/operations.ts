import { accessOperations } from './access-operations.ts';
import { eventOperations } from './event-operations.ts';
import { feedOperations } from './feed-operations.ts';
import { licenseOperations } from './license-operations.ts';
import { mcpOperation } from './mcp-operation.ts';
import { noteOperations } from './note-operations.ts';
import { oauthOperations } from './oauth-operations.ts';
import type { DescribedOperation, OperationParts } from './operation.ts';
import { operatorOperations } from './operator-operations.ts';
import { siteOperations, startOperations } from './page-operations.ts';
import { readOperations } from './read-operations.ts';
import { openApiOperation, serviceOperations } from './service-operations.ts';
import { settingsOperations } from './settings-operations.ts';
import { signInOperations } from './sign-in-operations.ts';

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
