import './page/older.ts';
import './keeping/offline.ts';
import './reading/code.ts';
import './copy.ts';
import './reading/lightbox.ts';
import { find } from './page/elements.ts';
import { startDeletingHere } from './reading/delete-note.ts';
import { startMenus } from './reading/menus.ts';
import { keepTimes } from './reading/times.ts';
import { startWriting } from './writing/writing.ts';

// The page of a note, for its writers.
startMenus();
startDeletingHere();
keepTimes(find<HTMLElement>(document, '#main'));
startWriting();
