/** What clients are told, on a database server as it is on files; all tables of it are in `on-postgres.soak.ts`. */
process.env.SERVICE_STORAGE = 'postgres';

await import('./caps.test.ts');
await import('./openapi-answers.test.ts');
