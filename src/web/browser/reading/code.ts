// Colours the code of notes whose language is known, also of notes that come later. It changes no element, so that the notes of a
// page can be compared with those of its next version.

/** Names of `languages.ts`, which is loaded only if one of them is in the page. */
const LANGUAGES = new Set(
  (
    'bash sh zsh shell console c h cpp c++ cc hpp csharp cs c# css diff patch dockerfile docker go golang html ini toml java ' +
    'javascript js jsx mjs cjs json jsonc kotlin kt markdown md php python py ruby rb rust rs sql svg swift typescript ts tsx ' +
    'mts cts xml yaml yml'
  ).split(' '),
);
/** Longer code has no colours, characters: it would hold the page up. */
const MAX_LENGTH = 50_000;

/** Takes the colours off again, for each piece of code that has them. */
const coloured = new Map<Element, () => void>();

if ('highlights' in CSS) {
  new MutationObserver(() => void colour()).observe(document.body, { childList: true, subtree: true });
  void colour();
}

async function colour(): Promise<void> {
  forgetRemoved();
  const isNew = (code: Element) => !coloured.has(code) && LANGUAGES.has(languageOf(code));
  const blocks = [...document.querySelectorAll('pre > code[class]')];
  if (!blocks.some(isNew)) return;
  const { colouredParts } = await import('./languages.ts');
  for (const code of blocks.filter(isNew)) {
    const text = code.firstChild;
    if (!(text instanceof Text) || text.nextSibling !== null || text.length > MAX_LENGTH) continue;
    const undo = colouredParts(text.data, languageOf(code)).map(({ kind, start, end }) => {
      const highlight = highlightOf(kind);
      const place = { startContainer: text, startOffset: start, endContainer: text, endOffset: end };
      const range = new StaticRange(place);
      highlight.add(range);
      return () => highlight.delete(range);
    });
    coloured.set(code, () => {
      for (const one of undo) one();
    });
  }
}

function forgetRemoved(): void {
  for (const [code, undo] of coloured) {
    if (code.isConnected) continue;
    undo();
    coloured.delete(code);
  }
}

/** What `::highlight(code-<kind>)` colours. */
function highlightOf(kind: string): Highlight {
  const name = `code-${kind}`;
  const highlight = CSS.highlights.get(name) ?? new Highlight();
  CSS.highlights.set(name, highlight);
  return highlight;
}

function languageOf(code: Element): string {
  return code.className.replace('language-', '');
}
