/** Also streams that are open for longest; see `live.test.ts`. */
process.env.SOAK = '1';

await import('./live.test.ts');
