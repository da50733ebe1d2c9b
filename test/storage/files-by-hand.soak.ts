/** All changes by hand, also without the kernel's events; see `files-by-hand.test.ts`. */
process.env.SOAK = '1';

await import('./files-by-hand.test.ts');
