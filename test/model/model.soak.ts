/** Many runs of the model; see `model.test.ts`. */
process.env.SOAK = '1';

await import('./model.test.ts');
