import { type Html, html, trustedHtml } from './html.ts';

/** Drawings of 24 by 24 units, drawn as lines (`.icon` in `styles/page.css`). */
const DRAWINGS = {
  eye: '<path d="M12 5c5 0 8.5 4.5 9.5 7-1 2.5-4.5 7-9.5 7s-8.5-4.5-9.5-7c1-2.5 4.5-7 9.5-7z"/><circle cx="12" cy="12" r="3"/>',
  link: '<path d="M9 15l6-6M10.5 6.5l1-1a4.2 4.2 0 0 1 6 6l-1 1M13.5 17.5l-1 1a4.2 4.2 0 0 1-6-6l1-1"/>',
  rss: '<path d="M5 11a8 8 0 0 1 8 8M5 5a14 14 0 0 1 14 14"/><circle cx="6" cy="18" r="1.4"/>',
  settings:
    '<path d="M4 8h9M17 8h3M4 16h3M11 16h9"/><circle cx="15" cy="8" r="2"/><circle cx="9" cy="16" r="2"/>',
  search: '<circle cx="10.5" cy="10.5" r="5.5"/><path d="M14.7 14.7L20 20"/>',
  key: '<circle cx="8" cy="15" r="4"/><path d="M11 12l8.5-8.5M16 7l3 3M13.5 9.5l2 2"/>',
  edit: '<path d="M4 20l1-4L16 5l3 3L8 19zM14 7l3 3"/>',
  bold: '<path d="M7 5h6a3.5 3.5 0 0 1 0 7H7zM7 12h7a3.5 3.5 0 0 1 0 7H7z"/>',
  italic: '<path d="M14 5l-4 14M10 5h7M7 19h7"/>',
  list: '<path d="M9 7h11M9 12h11M9 17h11M4.5 7h.1M4.5 12h.1M4.5 17h.1"/>',
  code: '<path d="M9 7l-5 5 5 5M15 7l5 5-5 5"/>',
  picture:
    '<rect x="4" y="5" width="16" height="14" rx="2.5"/><path d="M5 16l4.5-4.5 4 4 2.5-2.5 3.5 3.5"/><circle cx="15.5" cy="9.5" r="1.2"/>',
  up: '<path d="M12 19V6M6.5 11L12 5.5l5.5 5.5"/>',
  down: '<path d="M12 5v13M6.5 13l5.5 5.5 5.5-5.5"/>',
  insert: '<path d="M19 5v6a3 3 0 0 1-3 3H6M10 9.5L5.5 14l4.5 4.5"/>',
  close: '<path d="M6.5 6.5l11 11M17.5 6.5l-11 11"/>',
  trash: '<path d="M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5"/>',
  download: '<path d="M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 19.5h14"/>',
  upload: '<path d="M12 16V5M7.5 9.5L12 5l4.5 4.5M5 19.5h14"/>',
  qr: '<path d="M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5zM14 14h2v2h-2zM19 14v2M14 19h2M18.5 18.5h.5v.5h-.5z"/>',
  share: '<path d="M12 15V4M8 7.5L12 4l4 3.5M7 11H5.5v8.5h13V11H17"/>',
  bell: '<path d="M6 17h12l-1.5-2.2V11a4.5 4.5 0 0 0-9 0v3.8zM10.3 19.6h3.4M12 4.5v2"/>',
  mail: '<rect x="4" y="6" width="16" height="12" rx="2"/><path d="M4.5 7.5L12 13l7.5-5.5"/>',
} as const;

export type IconName = keyof typeof DRAWINGS;

const ICONS = Object.fromEntries(
  Object.entries(DRAWINGS).map(([name, drawing]) => [
    name,
    trustedHtml(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${drawing}</svg>`),
  ]),
) as Readonly<Record<IconName, Html>>;

/** A drawing beside a word, or in a control that has a name of its own: a screen reader says nothing of it. */
export function icon(name: IconName): Html {
  return ICONS[name];
}

/** The mark of the service: a note that sends. */
export const MARK = html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="7" stroke="none"/><path d="M7 17.1h.1M6.5 12.6a4.7 4.7 0 0 1 4.7 4.7M6.5 8.3a9 9 0 0 1 9 9M15 6.2h3" fill="none" stroke-width="1.9" stroke-linecap="round"/></svg>`;
