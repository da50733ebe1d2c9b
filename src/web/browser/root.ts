/** The path of the instance, without a trailing slash: mostly empty. Scripts are served at `<root>/static/`. */
export const ROOT = new URL('..', import.meta.url).pathname.replace(/\/$/, '');
