/** Many runs of the model on a database; see `model.test.ts`. */
process.env.SOAK = '1';

await import('./on-sqlite.test.ts');
