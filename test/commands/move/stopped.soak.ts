/** Moves into every backend that are killed, or lose their lock or server; see `stopped.test.ts`. */
process.env.SOAK = '1';

await import('./stopped.test.ts');
