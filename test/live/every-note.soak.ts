/** Thousands of notes, with more reconnects and kills, on each storage; see `every-note.test.ts`. */
await import('./every-note.test.ts');
