import { escapeHtml } from '../read/html.ts';
import { page } from './page.ts';

/** The page at `/logout`. `root` is the path of the instance, without a trailing slash. */
export function logOutPage(root: string): Buffer {
  return page(
    'Log out',
    `<form method="post" action="${escapeHtml(root)}/logout">
<p><button>Log out</button></p>
</form>
<p><a href="${escapeHtml(root)}/">To the start page</a></p>`,
  );
}
