import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { HookNote } from '../../src/hooks/hook.ts';
import { HOOK_KINDS } from '../../src/hooks/kinds.ts';

const folder = join(import.meta.dirname, 'payloads');

/** A payload as its sender documents it, and beside it, in a file of the same name, the notes that it becomes. */
export interface Recorded {
  readonly kind: string;
  readonly name: string;
  readonly text: string;
  /** What its sender sends beside it. */
  readonly headers: Readonly<Record<string, string>>;
  readonly notes: string;
}

/** All recorded payloads, or those of one kind. Those of GitHub are named after their event. */
export function recorded(kind = '*'): Recorded[] {
  return globSync(`${kind}/*.json`, { cwd: folder })
    .sort()
    .map((file) => {
      const [kind, name] = [dirname(file), basename(file, '.json')];
      const [event = ''] = name.split('-');
      return {
        kind,
        name,
        text: readFileSync(join(folder, file), 'utf8'),
        headers: kind === 'github' ? { 'x-github-event': event, 'x-github-delivery': name } : {},
        notes: readFileSync(join(folder, kind, `${name}.md`), 'utf8'),
      };
    });
}

export function notesOf(kind: string, payload: unknown, headers: Readonly<Record<string, string>> = {}) {
  return HOOK_KINDS.get(kind)!.notes(payload, (name) => headers[name]);
}

/** Writes notes in the format of the files of expected notes: title, tags and key, a blank line, the text. A line of `=` separates notes. */
export function written(notes: readonly HookNote[]): string {
  return notes
    .map(({ markdown, title, tags, key }) => {
      const lines = [title && `title: ${title}`, `tags: ${tags.join(', ')}`, key && `key: ${key}`];
      return `${lines.filter(Boolean).join('\n')}\n\n${markdown}\n`;
    })
    .join(`\n${'='.repeat(20)}\n`);
}
