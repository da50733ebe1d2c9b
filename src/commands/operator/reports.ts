import type { Json } from '../../schemas.ts';
import type { Action } from './action.ts';
import { OperatedService } from './operated-service.ts';
import { inOneLine, sayDone, shortTime, show } from './output.ts';

type Report = Json<'Reports'>['reports'][number];

/** What readers have reported. */
export const REPORT_ACTIONS = {
  reports: {
    async run(_, _options, env) {
      const service = new OperatedService(env);
      const reports = await service.list('/reports', (page: Json<'Reports'>) => page.reports);
      show({ reports }, () =>
        reports.length > 0 ? reports.map(paragraph).join('\n\n') : 'No open reports.',
      );
    },
  },
  dismiss: {
    takesArgument: true,
    async run(id, _, env) {
      await new OperatedService(env).tell('DELETE', `/reports/${encodeURIComponent(id)}`);
      sayDone('The report is removed.');
    },
  },
} satisfies Record<string, Action>;

function paragraph({ id, target, reason, contact, at }: Report): string {
  const lines = [`${shortTime(at)}  ${target}`, ...reason.split('\n').map((line) => `  ${inOneLine(line)}`)];
  if (contact !== undefined) lines.push(`  Contact: ${inOneLine(contact)}`);
  return [...lines, `  dismiss ${id}`].join('\n');
}
