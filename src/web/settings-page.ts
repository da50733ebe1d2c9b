import type { FeedName } from '../feeds/names.ts';
import { escapeHtml } from '../read/html.ts';
import type { Feed } from '../storage/storage.ts';
import { page } from './page.ts';

export interface SettingsPage {
  readonly feed: Feed;
  /** The path of the instance, without a trailing slash. */
  readonly root: string;
  /** The last change was made. */
  readonly isSaved?: boolean;
  /** What was typed into the form that was refused, and why it was. */
  readonly refused?: { readonly form: URLSearchParams; readonly problem: FieldProblem } | undefined;
}

/** What is wrong with a form, one sentence. */
export interface FieldProblem {
  readonly message: string;
  /** The field to blame; what is wrong in none that the page shows stands on top. */
  readonly field: string | undefined;
}

const FIELDS: ReadonlySet<string | undefined> = new Set(['title', 'description', 'read_id', 'name']);
const PASSWORD_FIELDS: ReadonlySet<string | undefined> = new Set(['current', 'next']);

/** The settings of a feed. Passwords that were typed are never shown again. */
export function settingsPage({ feed, root, isSaved = false, refused }: SettingsPage): Buffer {
  const at = (path: string) => escapeHtml(`${root}/${feed.name}/${path}`);
  const typed = (name: string, kept: string) => escapeHtml(refused?.form.get(name) ?? kept);
  const isProtected = feed.passwordHash !== undefined;
  const blamed = refused?.problem.field;
  const isShown = FIELDS.has(blamed) || (isProtected && PASSWORD_FIELDS.has(blamed));
  const alert = refused === undefined ? '' : `<p role="alert">${escapeHtml(refused.problem.message)}</p>`;
  const problem = (field: string) => (blamed === field ? alert : '');
  const password = (label: string, name: string, action: string) =>
    `<p><label>${label} <input type="password" name="${name}" required></label></p>${
      refused?.form.get('action') === action ? problem(name) : ''
    }`;
  const access = `<h2>Privacy &amp; access</h2>
<form method="post" action="${at('access')}">
${password('Current password', 'current', 'change')}
${password('New password', 'next', 'change')}
<p><button name="action" value="change">Change password</button></p>
</form>
<form method="post" action="${at('access')}">
${password('Current password', 'current', 'remove')}
<p><button name="action" value="remove">Remove password</button></p>
</form>
<form method="post" action="${at('access')}"><p><button name="action" value="lock">Lock in this browser</button></p></form>`;
  return page(
    'Settings',
    `${isSaved ? '<p role="status">Saved.</p>' : ''}
${isShown ? '' : alert}
<h2>Profile</h2>
<form method="post" action="${at('details')}">
<p><label>Title <input name="title" value="${typed('title', feed.title)}"></label></p>${problem('title')}
<p><label>Description <input name="description" value="${typed('description', feed.description)}"></label></p>${problem('description')}
<p><button>Save changes</button></p>
</form>
<h2>Sharing</h2>
<form method="post" action="${at('details')}">
<p><label>Read id <input name="read_id" value="${typed('read_id', feed.readId)}"></label></p>${problem('read_id')}
<p><button>Save read id</button></p>
</form>
<form method="post" action="${at('details')}"><p><button name="read_id" value="">Generate a random one</button></p></form>
${isProtected ? access : ''}
<h2>Danger zone</h2>
<form method="post" action="${at('delete')}">
<p><label>Name of the feed <input name="name" value="${typed('name', '')}" required autocomplete="off"></label></p>${problem('name')}
<p><button>Delete this feed</button></p>
</form>`,
  );
}

/** The page in the place of the settings of a feed without notes. */
export function noSettingsPage({ name, root }: { readonly name: FeedName; readonly root: string }): Buffer {
  return page(
    'No settings yet',
    `<p>A feed has settings once it has a note. <a href="${escapeHtml(`${root}/${name}`)}">Back to the feed</a></p>`,
  );
}
