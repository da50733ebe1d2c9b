/** Many kills while posting; see `files-kill.test.ts`. */
process.env.SOAK = '1';

await import('./files-kill.test.ts');
