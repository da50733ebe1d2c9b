import { type HookKind, stateTitle, tagsOf } from './hook.ts';
import { asParagraphs, bareLink, blocks } from './markdown.ts';
import { Members } from './members.ts';

/** By the number of a heartbeat's status. */
const STATES = ['down', 'up', 'pending', 'maintenance'];

/**
 * The webhook of Uptime Kuma (https://github.com/louislam/uptime-kuma). It names the monitor but not the outage, so "up" is a note
 * of its own: an outage of today does not belong into the note of the last one. Of the monitor only name and address are shown:
 * other members hold passwords.
 */
export const uptimeKuma: HookKind = {
  answer: 'id',
  notes: (payload) => {
    const message = new Members(payload);
    const heartbeat = message.object('heartbeat');
    const monitor = message.object('monitor');
    const state = STATES[heartbeat.number('status') ?? -1] ?? '';
    const name = monitor.text('name');
    // A test, or a certificate that ends soon, has no heartbeat.
    const text = heartbeat.text('msg') || message.needed('msg');
    return [
      {
        title: name === '' || state === '' ? '' : stateTitle(state, name),
        markdown: blocks(asParagraphs(text), bareLink(monitor.text('url'))),
        tags: tagsOf('uptime-kuma', state),
      },
    ];
  },
};
