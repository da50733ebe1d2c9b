/** What notes of Alertmanager and Grafana have in common: Grafana sends the payload of Alertmanager with more members. */
import { type HookNote, keyOf, stateTitle, tagsOf, timeText } from './hook.ts';
import { asParagraphs, asText, blocks, inRow, link, list } from './markdown.ts';
import { Members } from './members.ts';

/** Alerts of one call that have notes of their own. */
const MAX_ALERTS = 20;
/** Labels and values of an alert that are shown. */
const MAX_LABELS = 20;

/** What links of an alert are called, by the member that has the address. */
type Links = Readonly<Record<string, string>>;

/**
 * A note for each of the 20 alerts of a group that started first, and one note that names the others. The key of a note holds the
 * start of its alert. So an alert that fires again another day gets a new note, instead of changing the old one far below.
 */
export function alertNotes(kind: string, payload: unknown, links: Links): HookNote[] {
  const group = new Members(payload);
  if (!group.has('alerts')) throw group.refusal('alerts', 'an array');
  const alerts = byStart(group.list('alerts'));
  const notes = alerts.slice(0, MAX_ALERTS).map((alert) => alertNote(kind, alert, links));
  const others = alerts.slice(MAX_ALERTS);
  const total = others.length + Math.max(0, Math.trunc(group.number('truncatedAlerts') ?? 0));
  if (total === 0) return notes;
  const status = group.text('status');
  const [first] = alerts;
  const more: HookNote = {
    title: stateTitle(status, `${total} more ${total === 1 ? 'alert' : 'alerts'}`),
    markdown: list(
      others.map((alert) => asText(nameOf(alert))),
      total,
    ),
    tags: tagsOf(kind, status),
    key: first && alertKey(first, kind, 'more', group.text('groupKey')),
  };
  return [...notes, more];
}

function alertNote(kind: string, alert: Members, links: Links): HookNote {
  const status = alert.needed('status');
  const labels = alert.object('labels');
  const annotations = alert.object('annotations');
  const identity = alert.text('fingerprint') || identityOf(labels);
  const markdown = blocks(
    asParagraphs(annotations.text('summary')),
    asParagraphs(annotations.text('description') || annotations.text('message')),
    [...pairs(labels), ...pairs(alert.object('values'))].join('\n'),
    lastedFrom(alert),
    inRow(
      link('Runbook', annotations.text('runbook_url')),
      ...Object.entries(links).map(([member, text]) => link(text, alert.text(member))),
    ),
  );
  return {
    title: stateTitle(status, nameOf(alert)),
    markdown: markdown || asText(nameOf(alert)),
    tags: tagsOf(kind, status, labels.text('severity')),
    key: alertKey(alert, kind, identity),
  };
}

/** Alerts by their start. A new alert must not push an older one out of the first 20, whose note would never say that it ended. */
function byStart(alerts: readonly Members[]): Members[] {
  return alerts
    .map((alert) => ({ alert, start: Date.parse(alert.text('startsAt')) || 0 }))
    .sort((a, b) => a.start - b.start)
    .map(({ alert }) => alert);
}

function alertKey(alert: Members, kind: string, ...names: readonly string[]): string | undefined {
  const start = isoTimeOf(alert.text('startsAt'));
  return start && keyOf(kind, ...names, start);
}

function nameOf(alert: Members): string {
  const labels = alert.object('labels');
  return labels.text('alertname') || alert.object('annotations').text('summary') || 'alert';
}

/** What identifies an alert of an old version, which sends no fingerprint: its labels. */
function identityOf(labels: Members): string {
  return JSON.stringify(labels.names.sort().map((name) => [name, labels.text(name)]));
}

/** A line for each label or value, without the alert name, which is in the title, and without internal names (`__…`). */
function pairs(values: Members): string[] {
  const names = values.names.filter((name) => name !== 'alertname' && !name.startsWith('__'));
  return names.slice(0, MAX_LABELS).map((name) => `- ${asText(name)}: ${asText(values.text(name))}`);
}

/** When the alert began and, if it is resolved, when it ended. `endsAt` of a firing alert is in the year 1 or in the future. */
function lastedFrom(alert: Members): string {
  const start = isoTimeOf(alert.text('startsAt'));
  const end = alert.text('status') === 'resolved' ? isoTimeOf(alert.text('endsAt')) : undefined;
  if (start === undefined) return '';
  return end === undefined ? `Since ${timeText(start)}` : `From ${timeText(start)} to ${timeText(end)}`;
}

/** In UTC; undefined for what is no time. */
function isoTimeOf(time: string): string | undefined {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() < 1970 ? undefined : date.toISOString();
}
