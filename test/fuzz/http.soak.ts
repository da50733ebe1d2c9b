/** A longer run of random requests; see `http.test.ts`. */
process.env.SOAK = '1';

await import('./http.test.ts');
