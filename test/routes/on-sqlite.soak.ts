/** What clients are told, on a database as it is on files: the tables of errors, caps, read ids and the API's description. */
import t from 'tap';

process.env.SERVICE_STORAGE = 'sqlite';

await import('./order-of-checks.test.ts');
await import('./blocks.test.ts');
await import('./caps.test.ts');
await import('./events.test.ts');
await import('./expiry.test.ts');
await import('./if-match.test.ts');
await import('./in-flight.test.ts');
await import('./keys.test.ts');
await import('./openapi-answers.test.ts');
await import('./operator.test.ts');
await import('./public-access.test.ts');
await import('./reports.test.ts');
await import('./search.test.ts');
await import('./transfer.test.ts');
await import('./unknown-read-ids.test.ts');

t.setTimeout(600_000);
