/** Also what takes a full log or a large feed; see `sqlite-faults.test.ts`. */
process.env.SOAK = '1';

await import('./sqlite-faults.test.ts');
