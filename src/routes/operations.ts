import { assistantOperations } from './assistant-operations.ts';
import { feedOperations } from './feed-operations.ts';
import { hookOperations } from './hook-operations.ts';
import { loginOperations } from './login-operations.ts';
import { noteOperations } from './note-operations.ts';
import type { DescribedOperation, OperationParts } from './operation.ts';
import { operatorOperations } from './operator-operations.ts';
import { siteOperations, startOperations } from './page-operations.ts';
import { readOperations } from './read-operations.ts';
import { reportPageOperations } from './report-operations.ts';
import { openApiOperation, serviceOperations } from './service-operations.ts';
import { settingsOperations } from './settings-operations.ts';
import { transferOperations } from './transfer-operations.ts';

/** The one table of operations: routing, access, logs and the API description all read it. */
export function operations(parts: OperationParts): DescribedOperation[] {
  const table: DescribedOperation[] = [
    ...serviceOperations(parts),
    ...startOperations(parts),
    ...loginOperations(parts),
    ...settingsOperations(parts),
    ...siteOperations(parts),
    ...reportPageOperations(parts),
    ...noteOperations(parts),
    ...hookOperations(parts),
    ...feedOperations(parts),
    ...transferOperations(parts),
    ...readOperations(parts),
    ...operatorOperations(parts),
    ...assistantOperations(parts),
    openApiOperation(() => table, parts.publicUrl),
  ];
  return table;
}
