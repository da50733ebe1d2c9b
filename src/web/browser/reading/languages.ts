import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const ALL = {
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, markdown },
  ...{ php, python, ruby, rust, shell, sql, swift, typescript, xml, yaml },
};
for (const [name, language] of Object.entries(ALL)) hljs.registerLanguage(name, language);

/** The colours of code (`::highlight(code-…)` in `styles/text.css`), each with the scopes of highlight.js that get it. */
const KINDS: Readonly<Record<string, string>> = {
  keyword: 'keyword built_in selector-tag name section doctag type title',
  comment: 'comment quote meta',
  string: 'string regexp addition symbol char link code selector-id selector-class',
  value:
    'number literal attr attribute property variable template-variable bullet selector-attr selector-pseudo',
  removed: 'deletion',
};
const KIND_OF = new Map<string, string>(
  Object.entries(KINDS).flatMap(([kind, scopes]) =>
    scopes.split(' ').map((scope) => [`hljs-${scope}`, kind] as const),
  ),
);

/** A part of code that has a colour; offsets in UTF-16 code units. */
interface ColouredPart {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** The parts of code that have a colour, in order; none in a language that is not known. */
export function colouredParts(code: string, language: string): ColouredPart[] {
  if (hljs.getLanguage(language) === undefined) return [];
  const template = document.createElement('template');
  // highlight.js escapes the code, and nothing of the template is shown.
  template.innerHTML = hljs.highlight(code, { language, ignoreIllegals: true }).value;
  const texts = document.createTreeWalker(template.content, NodeFilter.SHOW_TEXT);
  const parts: ColouredPart[] = [];
  let start = 0;
  while (texts.nextNode()) {
    const { parentElement, textContent } = texts.currentNode;
    const end = start + (textContent?.length ?? 0);
    const kind = KIND_OF.get(parentElement?.classList[0] ?? '');
    if (kind !== undefined) parts.push({ kind, start, end });
    start = end;
  }
  return parts;
}
