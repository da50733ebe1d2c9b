import type { Reply } from '../service.ts';
import { Promised } from './promised.ts';
import { type Load, listed, look, same, type WriteKind } from './write-kind.ts';

const CLIENTS = 2;
/** Alerts of one call, and of one client before it begins others. */
const [MAX_AT_ONCE, ALERTS] = [3, 6];
const STARTED_AT = '2026-01-31T12:00:00Z';

type State = 'unknown' | 'firing' | 'resolved';

/** Calls of Alertmanager: each alert has one note, which says how it is now. A call stores its notes one by one. */
export function hooked(load: Load): WriteKind {
  const { random } = load;
  const clients = Array.from({ length: CLIENTS }, () => new Map<string, Promised<State>>());
  const feedOf = (client: number) => load.feed(`hooked-${client}`);

  return {
    name: 'hooks',
    clients: CLIENTS,
    write: async (client) => {
      const alerts = clients[client]!;
      const open = [...alerts].filter(([, { state }]) => state !== undefined && state !== 'resolved');
      if (open.length < ALERTS) {
        const made: [string, Promised<State>] = [
          `alert-${load.next()}`,
          new Promised<State>(load, 'unknown'),
        ];
        alerts.set(...made);
        open.push(made);
      }
      const first = random.below(open.length);
      const called = open.slice(first, first + 1 + random.below(MAX_AT_ONCE)).map(([name, promised]) => {
        const status: State = promised.state === 'unknown' || random.oneIn(2) ? 'firing' : 'resolved';
        return { name, promised, status };
      });
      const payload = {
        alerts: called.map(({ name, status }) => ({
          status,
          fingerprint: name,
          labels: { alertname: name },
          startsAt: STARTED_AT,
        })),
      };
      const call = () => feedOf(client).send('POST', '/hooks/alertmanager', JSON.stringify(payload));
      const send = called.reduce<() => Promise<Reply>>(
        (inner, { promised, status }) =>
          () =>
            promised.write(status, 200, inner),
        call,
      );
      await send();
    },
    check: async () => {
      for (const [client, alerts] of clients.entries()) {
        const feed = feedOf(client);
        const { status } = await look(() => feed.get(), 200, 404);
        const notes = status === 404 ? [] : await listed((query) => feed.list(query));
        const tagsOf = Map.groupBy(notes, ({ title }) => title.split(': ')[1]);
        for (const [name, promised] of alerts) {
          const found = tagsOf.get(name) ?? [];
          tagsOf.delete(name);
          promised.settle(found.length === 0 ? 'unknown' : found.map(({ tags }) => tags[1]).join(), name);
        }
        same([...tagsOf.keys()], [], 'the alerts that nobody has told of');
      }
    },
  };
}
