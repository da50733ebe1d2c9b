/** What clients are told, on a database as it is on files; all tables of it are in `on-sqlite.soak.ts`. */
process.env.SERVICE_STORAGE = 'sqlite';

await import('./caps.test.ts');
await import('./openapi-answers.test.ts');
