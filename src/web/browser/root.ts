/** Path of the instance without a trailing slash; usually empty. Scripts are served at `<root>/static/`. */
export const ROOT = new URL('..', import.meta.url).pathname.replace(/\/$/, '');
