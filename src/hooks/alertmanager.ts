import { alertNotes } from './alerts.ts';
import type { HookKind } from './hook.ts';

/** Webhooks of Alertmanager (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config). */
export const alertmanager: HookKind = {
  answer: 'id',
  notes: (payload) => alertNotes('alertmanager', payload, { generatorURL: 'Source' }),
};
