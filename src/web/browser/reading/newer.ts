/**
 * On a page of older notes, leads to the page of newer ones that led to it, at the place where it was left. The service itself knows
 * only the way to the newest, because pages are counted from there.
 */
export function leadBack(): void {
  const link = document.querySelector<HTMLAnchorElement>('#notes .pages [rel=prev]');
  const url = entryBefore();
  if (link === null || url === undefined || !isSameList(new URL(url))) return;
  link.textContent = '← Newer';
  link.href = url;
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.back();
  });
}

/** The page before this one in the history of this window; undefined if there is none or the browser does not tell. */
function entryBefore(): string | undefined {
  if (!('navigation' in window)) return undefined;
  const { currentEntry } = navigation;
  return (currentEntry && navigation.entries()[currentEntry.index - 1]?.url) ?? undefined;
}

/** Only a link to older notes leads from one page of a list to another that has newer ones. */
function isSameList({ pathname, searchParams }: URL): boolean {
  const here = new URLSearchParams(location.search);
  const isSame = (name: string) => (searchParams.get(name) ?? '') === (here.get(name) ?? '');
  return pathname === location.pathname && ['q', 'tag', 'from', 'to'].every(isSame);
}
