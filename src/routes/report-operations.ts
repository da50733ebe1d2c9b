import { type Answer, json, NO_CONTENT } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import { CONTACT_LENGTH, REASON_LENGTH } from '../ingest/reports.ts';
import { onRefusal } from '../refusals.ts';
import { formBody } from '../requests/bodies.ts';
import type { Json } from '../schemas.ts';
import { errorPage } from '../web/error-page.ts';
import { pageAnswer } from '../web/page.ts';
import { reportedPage, reportPage } from '../web/report-page.ts';
import { refuseAllButOwnPages } from './caller.ts';
import { type DescribedOperation, type OperationParts, operation } from './operation.ts';
import { jsonAnswer, NO_CONTENT_ANSWER, type OperatorDocs } from './operation-docs.ts';
import { addressIn, audited, cursorOf, forOperator, limitIn, placeOf } from './operator-request.ts';
import { seeOther } from './redirects.ts';

/** Enough for the longest reason, in which each byte may take three characters. */
const MAX_FORM_BYTES = 48 * 1024;
const LIMITS = { reason: REASON_LENGTH, contact: CONTACT_LENGTH };

/** The page where readers report notes, if the instance takes reports itself. Everybody may, also on a locked instance. */
export function reportPageOperations(parts: OperationParts): DescribedOperation[] {
  const { site } = parts;
  if (!site.takesReports) return [];
  const open = { access: 'public', isPage: true } as const;
  return [
    operation('reportPage', 'GET /report', open, (exchange) => {
      if (exchange.query('sent') === '1') return pageAnswer(reportedPage(site));
      const target = exchange.query('target') ?? '';
      return pageAnswer(reportPage(site, { target, reason: '', contact: '' }, LIMITS));
    }),
    operation('report', 'POST /report', open, (exchange) => report(parts, exchange)),
  ];
}

async function report({ site, access, reports }: OperationParts, exchange: Exchange): Promise<Answer> {
  refuseAllButOwnPages(exchange);
  const form = await formBody(exchange, MAX_FORM_BYTES);
  const field = (name: string) => form.get(name) ?? '';
  const [target, reason, contact] = [field('target'), field('reason'), field('contact')];
  return onRefusal(
    async () => {
      const { path } = addressIn(exchange, target.trim(), true);
      const checked = reports.check({ target: path, reason, contact });
      await access.reports.count(exchange.client);
      await reports.add(checked);
      return seeOther(exchange, '/report?sent=1');
    },
    (refusal) => {
      const again = reportPage(site, { target, reason, contact, refusal }, LIMITS);
      return errorPage(site, refusal, exchange, again);
    },
  );
}

/** The reports, for the operator. */
export function reportsOperations({ reports, audit }: OperationParts): DescribedOperation[] {
  const path = '/api/operator/reports';
  return [
    operation('listReports', `GET ${path}`, forOperator(LIST), async (exchange) => {
      const after = placeOf(exchange.query('after'), ([id]) => (typeof id === 'string' ? id : undefined));
      const page = await reports.list(limitIn(exchange), after ?? '');
      const { base } = exchange;
      const body: Json<'Reports'> = {
        reports: page.reports.map(({ id, target, reason, contact, at }) => ({
          ...{ id, target: base + target, reason },
          ...(contact !== '' && { contact }),
          at: new Date(at).toISOString(),
        })),
        next: page.next === undefined ? null : cursorOf(page.next),
      };
      return json(200, body);
    }),
    operation('dismissReport', `DELETE ${path}/{report}`, forOperator(DISMISS), async (exchange, caller) => {
      await audited(reports.remove(exchange.parameters[0]!), () => audit('dismiss report', caller));
      return NO_CONTENT;
    }),
  ];
}

const LIST: OperatorDocs = {
  summary: 'List what readers have reported',
  description: 'With `SERVICE_REPORT_URL=builtin` the service takes reports at `/report`.',
  parameters: ['operatorLimit', 'after'],
  answers: { 200: jsonAnswer('Reports', 'A page of the open reports.') },
};

const DISMISS: OperatorDocs = {
  summary: 'Remove a report that is dealt with',
  answers: NO_CONTENT_ANSWER,
};
