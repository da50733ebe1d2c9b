/**
 * The service does what a simple model does: random operations through HTTP, with restarts and kills among them, and
 * after each one both hold the same. MODEL_RUNS sets how many runs there are, MODEL_SEED, MODEL_PATH and
 * MODEL_REPLAY (the seed, path and replayPath that a failure prints) repeat one.
 */
import fc from 'fast-check';
import t from 'tap';
import { dataDir, ServiceProcess } from '../support/service-process.ts';
import { anyCommand } from './commands.ts';
import { Model } from './model.ts';
import { ServiceClient } from './service-client.ts';
import { NAMES } from './values.ts';

/** Operations of one run on average; a run has any number up to twice as many. */
const OPERATIONS = 200;
/** One takes about 7 s on two busy cores. */
const RUNS = 6;
/** How long a run may take, ms, with the time in which a failure is made smaller by many more. */
const MAX_RUN_MS = 30_000;
/** How long the last operations may take after that, ms. */
const MARGIN_MS = 300_000;

const { MODEL_RUNS = String(RUNS), MODEL_SEED, MODEL_PATH, MODEL_REPLAY } = process.env;

const time = Number(MODEL_RUNS) * MAX_RUN_MS;

t.setTimeout(time + MARGIN_MS);

t.test('the service and the model agree after every operation', async (t) => {
  const dir = await dataDir(t);
  const env = { SERVICE_LOG_LEVEL: 'error', SERVICE_LOG_REQUESTS: '0' };
  const service = await ServiceClient.start(() => ServiceProcess.start(t, { dir, env }));
  const end = performance.now() + time;
  let runs = 0;
  let operations = 0;

  const replay = MODEL_REPLAY === undefined ? {} : { replayPath: MODEL_REPLAY };
  const property = fc.asyncProperty(
    fc.commands([anyCommand], { maxCommands: 2 * OPERATIONS, size: 'max', ...replay }),
    async (commands) => {
      // On a busy machine there are fewer runs.
      if (performance.now() > end) return;
      runs += 1;
      service.prefix = `run${runs}-`;
      const model = new Model();
      await fc.asyncModelRun(() => ({ model, real: service }), commands);
      await service.checkAll(model, NAMES);
      operations += [...commands].length;
      await Promise.all(
        [...model.feeds].map(([name, { password }]) =>
          service.askAbout(name, password, '', { method: 'DELETE' }),
        ),
      );
    },
  );
  await fc.assert(property, {
    numRuns: Number(MODEL_RUNS),
    ...(MODEL_SEED !== undefined && { seed: Number(MODEL_SEED) }),
    ...(MODEL_PATH !== undefined && { path: MODEL_PATH }),
  });
  t.comment(`${runs} runs, ${operations} operations`);
  t.ok(operations > 0);
});
