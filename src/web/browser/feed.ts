import './page/older.ts';
import './keeping/offline.ts';
import './reading/code.ts';
import './copy.ts';
import './reading/lightbox.ts';
import './reading/share.ts';
import './keeping/visited.ts';
import { find } from './page/elements.ts';
import { startDeleting } from './reading/delete-note.ts';
import { follow } from './reading/live.ts';
import { startMenus } from './reading/menus.ts';
import { leadBack } from './reading/newer.ts';
import { startSearch } from './reading/search.ts';
import { keepTimes } from './reading/times.ts';
import { startWriting } from './writing/writing.ts';

// Every page `/<feed>`: the newest notes, older ones, and what they are narrowed to. What a search has found stays as it is.
const list = document.querySelector<HTMLElement>('#notes[data-events]');
if (list !== null) {
  startMenus();
  startDeleting(follow(list));
} else keepTimes(find(document, '#notes'));
leadBack();
startSearch();
startWriting();
