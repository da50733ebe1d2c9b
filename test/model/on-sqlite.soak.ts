/** Many runs of the model on a database; see `model.soak.ts`. */
process.env.SERVICE_STORAGE = 'sqlite';

await import('./model.soak.ts');
