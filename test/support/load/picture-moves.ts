import { operate } from '../operator.ts';
import type { Reply } from '../service.ts';
import { answered, Failed, Idle, type Load, look, same, type WriteKind } from './write-kind.ts';

/** Moves pictures to the place that the services were started with. The other kinds see whether they are whole. */
export function pictureMoves(load: Load): WriteKind {
  let after: string | null = '';
  const move = (limit: number): Promise<Reply> =>
    operate(load.url, 'POST', '/images/move', { ...load.movedFrom, limit, after });

  return {
    name: 'moves of pictures',
    clients: 1,
    write: async () => {
      if (!load.movedFrom) throw new Idle('pictures were nowhere else');
      const { json } = answered(await move(1 + load.random.below(5)), 200);
      if (load.isFailing) throw new Failed('what cannot be moved now may be moved later');
      same([json.missing, json.failed], [0, 0], 'the pictures that cannot be moved');
      after = json.next ?? '';
    },
    check: async () => {
      after = '';
      while (load.movedFrom && after !== null) {
        const { json }: Reply = await look(() => move(1_000));
        same([json.missing, json.failed], [0, 0], 'the pictures that cannot be moved');
        after = json.next;
      }
      after = '';
    },
  };
}
