/** Also streams that are open for longest; see `live.test.ts`. */
await import('./live.test.ts');
