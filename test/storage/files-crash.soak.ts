/** Every change of several files, stopped at every step; see `files-crash.test.ts`. */
process.env.SOAK = '1';

await import('./files-crash.test.ts');
