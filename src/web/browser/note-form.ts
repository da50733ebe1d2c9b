/** Title and tags as headers of a post; what is blank is none. */
export function noteHeaders(title: string, tags: string): Record<string, string> {
  return {
    ...(title.trim() !== '' && { 'X-Note-Title': title.trim() }),
    ...(tags.trim() !== '' && { 'X-Note-Tags': tags.trim() }),
  };
}

/** Ctrl or ⌘ with Enter sends the form. */
export function submitOnEnter(form: HTMLFormElement): void {
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
}
