/** What clients are told, on SQLite as it is on files, where the storage decides it; `on-postgres.soak.ts` has more of it. */
import t from 'tap';

process.env.SERVICE_STORAGE = 'sqlite';

await import('./blocks.test.ts');
await import('./caps.test.ts');
await import('./expiry.test.ts');
await import('./if-match.test.ts');
await import('./keys.test.ts');
await import('./operator.test.ts');
await import('./search.test.ts');
await import('./transfer.test.ts');

t.setTimeout(600_000);
