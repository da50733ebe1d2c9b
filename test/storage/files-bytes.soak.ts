/** The bytes of files changed by hand, also without the kernel's events; see `files-bytes.test.ts`. */
await import('./files-bytes.test.ts');
