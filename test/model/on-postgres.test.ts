/** The model test on a database server, in fewer runs; see `model.test.ts`. */
import { times } from '../support/effort.ts';

process.env.SERVICE_STORAGE = 'postgres';
process.env.MODEL_RUNS ??= String(times(1, 2));

await import('./model.test.ts');
