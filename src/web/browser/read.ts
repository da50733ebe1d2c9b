import './page/older.ts';
import './keeping/offline.ts';
import './reading/code.ts';
import './copy.ts';
import './reading/lightbox.ts';
import './reading/share.ts';
import { find } from './page/elements.ts';
import { follow } from './reading/live.ts';
import { leadBack } from './reading/newer.ts';
import { startSearch } from './reading/search.ts';
import { keepTimes } from './reading/times.ts';

// Both public pages: of a feed and of a note. What a search has found stays as it is.
const list = document.querySelector<HTMLElement>('#notes[data-events]');
if (list !== null) follow(list);
else keepTimes(find<HTMLElement>(document, '#main'));
leadBack();
startSearch();
