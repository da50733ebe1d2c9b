/** Many kills while posting; see `sqlite-kill.test.ts`. */
process.env.SOAK = '1';

await import('./sqlite-kill.test.ts');
