import { alertNotes } from './alerts.ts';
import type { HookKind } from './hook.ts';

const LINKS = {
  dashboardURL: 'Dashboard',
  panelURL: 'Panel',
  generatorURL: 'Rule',
  silenceURL: 'Silence',
  imageURL: 'Screenshot',
};

/** Webhook contact points of Grafana (https://grafana.com/docs/grafana/latest/alerting/). */
export const grafana: HookKind = {
  answer: 'id',
  notes: (payload) => alertNotes('grafana', payload, LINKS),
};
