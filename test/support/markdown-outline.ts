import { type Node, Parser } from 'commonmark';

/** What a markdown text says, without how it is written. */
export interface Outline {
  readonly type: string;
  /** Text, code, HTML, title, info string and the like. */
  readonly content: string;
  /** The file that an image or link names; percent signs are resolved. */
  readonly file?: string;
  readonly children: readonly Outline[];
}

/** The text as commonmark.js, a parser that the service does not use, understands it. */
export function outlineOf(markdown: string): Outline {
  // It takes the byte order mark for a letter, and no definition that has a tab behind it.
  const text = markdown.replace(/^\ufeff/, '').replaceAll(/[ \t]*\t[ \t]*(?=[\r\n]|$)/g, ' ');
  return outline(new Parser().parse(text));
}

/** The same outline with every file replaced; `type` is `image` or `link`. */
export function withFiles(node: Outline, replaced: (file: string, type: string) => string): Outline {
  const children = node.children.map((child) => withFiles(child, replaced));
  if (node.file === undefined) return { ...node, children };
  return { ...node, children, file: replaced(node.file, node.type) };
}

/** The files of links, and of images that are not in the description of another one. */
export function shownFiles({ type, file, children }: Outline): Set<string> {
  const inside = type === 'image' ? [] : children.flatMap((child) => [...shownFiles(child)]);
  return new Set(file === undefined ? inside : [file, ...inside]);
}

function outline(node: Node): Outline {
  const { type, literal, title, info, level, listType, listTight, listStart, destination } = node;
  const content = JSON.stringify([
    closed(type, literal ?? ''),
    title,
    info,
    level,
    listType,
    listTight,
    listStart,
  ]);
  const children: Outline[] = [];
  for (let child = node.firstChild; child; child = child.next) children.push(outline(child));
  const result = { type, content, children };
  return destination === null ? result : { ...result, file: decoded(destination) };
}

/** Code and HTML without what an open block gets at its end when something is put behind it. */
function closed(type: string, literal: string): string {
  if (type === 'html_block') return literal.replace(/(?:\s|-->|\?>|\]\]>|<\/\w+>|>)*$/, '');
  return type === 'code_block' ? literal.trimEnd() : literal;
}

function decoded(destination: string): string {
  try {
    return decodeURIComponent(destination);
  } catch {
    return destination;
  }
}
