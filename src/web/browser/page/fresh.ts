/**
 * A page of this instance as it is now.
 * @param url this page unless given
 * @returns status 0 if the service cannot be reached; no page for any status but 200, and none if it leads elsewhere
 */
export async function freshPage(url = location.href): Promise<{ status: number; page?: Document }> {
  // `no-cache`, because public pages may be cached for a minute.
  const options: RequestInit = { cache: 'no-cache', headers: { Accept: 'text/html' } };
  const answer = await fetch(url, options).catch(() => undefined);
  if (!answer?.ok || answer.redirected) return { status: answer?.ok ? 0 : (answer?.status ?? 0) };
  // The connection may end in the middle of the page.
  const text = await answer.text().catch(() => undefined);
  if (text === undefined) return { status: 0 };
  return { status: 200, page: new DOMParser().parseFromString(text, 'text/html') };
}
