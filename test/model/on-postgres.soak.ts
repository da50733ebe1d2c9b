/** The model test on a database server, in fewer runs; see `model.soak.ts`. */
process.env.SERVICE_STORAGE = 'postgres';
process.env.MODEL_RUNS ??= '2';

await import('./model.soak.ts');
