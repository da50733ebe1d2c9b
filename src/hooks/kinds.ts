import { alertmanager } from './alertmanager.ts';
import { discord } from './discord.ts';
import { generic } from './generic.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { grafana } from './grafana.ts';
import type { HookKind } from './hook.ts';
import { slack } from './slack.ts';
import { uptimeKuma } from './uptime-kuma.ts';

/** The senders that are understood, by their names in addresses. */
export const HOOK_KINDS: ReadonlyMap<string, HookKind> = new Map([
  ['slack', slack],
  ['discord', discord],
  ['github', github],
  ['gitlab', gitlab],
  ['grafana', grafana],
  ['alertmanager', alertmanager],
  ['uptime-kuma', uptimeKuma],
  ['generic', generic],
]);
