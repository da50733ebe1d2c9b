/** All changes by hand, also without the kernel's events; see `files-by-hand.test.ts`. */
await import('./files-by-hand.test.ts');
