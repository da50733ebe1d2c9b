/** Also what takes a full log or a large feed; see `sqlite-faults.test.ts`. */
await import('./sqlite-faults.test.ts');
