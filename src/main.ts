import { checkSettings, run } from './run.ts';
import { startService } from './service.ts';

const args = process.argv.slice(2);
if (args.length === 0) {
  await run(startService);
} else if (args.length === 1 && args[0] === '--check') {
  checkSettings();
} else {
  process.stderr.write('Note Feed takes no arguments but --check, which looks at the settings and ends.\n');
  process.exitCode = 1;
}
