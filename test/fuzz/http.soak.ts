/** A longer run of random requests; see `http.test.ts`. */
await import('./http.test.ts');
