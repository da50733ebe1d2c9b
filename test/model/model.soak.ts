/** Many runs of the model; see `model.test.ts`. */
await import('./model.test.ts');
