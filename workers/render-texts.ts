import { CpuLimit } from '../src/read/cpu-limit.ts';
import { renderNote } from '../src/read/note-html.ts';
import type { Rendered } from '../src/read/note-text.ts';
import type { UnrenderedTexts } from '../src/read/renderer.ts';
import { compose, textLength, withNotes } from '../src/read/views/compose.ts';
import { moved } from './compose.ts';
import './warm-up.ts';

/** The longest view that is composed with its last texts, in characters: 5 ms of CPU. */
const MAX_VIEW = 256 * 1024;

/**
 * Renders the texts from the first on, until they have taken `ms` together, and then composes their view. A few texts may
 * take much longer: run it with a time limit. Returns `RenderedTexts`.
 */
export default function renderTexts(asked: UnrenderedTexts, isGivenUp: () => boolean): unknown {
  if (!asked.view) return { rendered: render(asked.contents, asked.ms, isGivenUp) };
  const { task, coding } = asked.view;
  const { notes } = task.document;
  const contents = notes.flatMap(({ content, rendered }) => (content && !rendered ? [content] : []));
  const rendered = render(contents, asked.ms, isGivenUp);
  if (rendered.length < contents.length || rendered.includes(undefined)) return { rendered };
  const last = rendered.values();
  const view = withNotes(
    task,
    notes.map((note) => (note.content && !note.rendered ? { ...note, rendered: last.next().value } : note)),
  );
  if (textLength(view) > MAX_VIEW) return { rendered };
  return moved({ rendered, composed: compose(view, coding) }, ({ composed }) => composed);
}

function render(
  contents: readonly Uint8Array[],
  ms: number,
  isGivenUp: () => boolean,
): (Rendered | undefined)[] {
  const together = new CpuLimit(ms, isGivenUp);
  const rendered: (Rendered | undefined)[] = [];
  for (const content of contents) {
    rendered.push(renderNote(content, new CpuLimit(ms, isGivenUp)));
    if (together.isReached) break;
  }
  return rendered;
}
