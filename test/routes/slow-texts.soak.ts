/** All of the slow texts; see `slow-texts.test.ts`. */
process.env.SOAK = '1';

await import('./slow-texts.test.ts');
