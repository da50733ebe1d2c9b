/** Many kills while posting; see `sqlite-kill.test.ts`. */
await import('./sqlite-kill.test.ts');
