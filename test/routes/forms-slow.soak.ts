/** More slow texts, of more clients; see `forms-slow.test.ts`. */
process.env.SOAK = '1';

await import('./forms-slow.test.ts');
