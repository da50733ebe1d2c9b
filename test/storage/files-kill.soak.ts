/** Many kills while posting; see `files-kill.test.ts`. */
await import('./files-kill.test.ts');
