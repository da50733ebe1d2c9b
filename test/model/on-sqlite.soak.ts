/** Many runs of the model on a database; see `model.test.ts`. */
process.env.SERVICE_STORAGE = 'sqlite';

await import('./model.test.ts');
