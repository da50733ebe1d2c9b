/** Ten thousand notes, a hundred reconnects and many kills on each storage; see `every-note.test.ts`. */
await import('./every-note.test.ts');
