import { deletions } from './deletions.ts';
import { edits } from './edits.ts';
import { expiring } from './expiring.ts';
import { hooked } from './hooked.ts';
import { imports } from './imports.ts';
import { keyed } from './keyed.ts';
import { pictureMoves } from './picture-moves.ts';
import { posts } from './posts.ts';
import { searched } from './searched.ts';
import { settings } from './settings.ts';
import { takedowns } from './takedowns.ts';
import type { Load, WriteKind } from './write-kind.ts';

/** All kinds of writes. The first one puts the pictures in place before others look at them. */
export const ALL_KINDS: readonly ((load: Load) => WriteKind)[] = [
  pictureMoves,
  posts,
  keyed,
  edits,
  settings,
  deletions,
  imports,
  expiring,
  searched,
  hooked,
  takedowns,
];
