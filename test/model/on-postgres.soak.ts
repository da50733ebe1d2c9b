/** Many runs of the model on a database server; see `model.test.ts`. */
process.env.SOAK = '1';

await import('./on-postgres.test.ts');
