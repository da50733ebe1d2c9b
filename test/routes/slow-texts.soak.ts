/** All of the slow texts; see `slow-texts.test.ts`. */
await import('./slow-texts.test.ts');
