const NOTE_BYTES = 1024;

/** Posts notes to a feed, all different, and says its read id and the ids of the notes, oldest first. */
export async function seedFeed(feed: string, count: number): Promise<{ readId: string; ids: string[] }> {
  const ids: string[] = [];
  let readUrl = '';
  for (let n = 0; n < count; n++) {
    const response = await fetch(feed, {
      method: 'POST',
      headers: { 'content-type': 'text/markdown' },
      body: note(`${feed} ${n}`),
    });
    if (response.status !== 201) throw new Error(`a post was answered ${response.status}`);
    const posted = (await response.json()) as { id: string; read_url: string };
    ids.push(posted.id);
    readUrl = posted.read_url;
  }
  return { readId: readUrl.split('/').at(-2)!, ids };
}

/** A note as people write them: a heading, a list, a quote, code, a link, and paragraphs up to its length. */
function note(name: string): string {
  const head =
    `# Notes on **${name}**\n\nSee [the page](https://example.com/page?a=1&b=2) for *more* & others.\n\n` +
    '- one\n- two with `code`\n- three\n\n> A quote\n\n```sh\necho "a < b"\n```\n\n';
  return (head + 'The quick brown fox *jumps* over the lazy dog, again and again.\n\n'.repeat(20)).slice(
    0,
    NOTE_BYTES,
  );
}
