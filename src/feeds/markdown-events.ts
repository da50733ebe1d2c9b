import { parse, postprocess, preprocess } from 'micromark';
import { gfmTable } from 'micromark-extension-gfm-table';

/** A token of a markdown text begins or ends; the context gives the characters of the token. */
export type MarkdownEvent = ReturnType<typeof postprocess>[number];

/**
 * Reads a text as CommonMark 0.31 with GitHub's tables. Tokens count in UTF-16 units from the start of the text, but
 * from behind a byte order mark. Takes minutes on hostile input: run it with a time limit.
 *
 * micromark 4.0 misreads a list that follows indented code and starts with an empty item or a number other than 1, a
 * tag that is alone on a lazy line, a CDATA block that ends with `]]]>`, and a shortcut reference before a bracket that
 * begins no label (`![r][`).
 */
export function markdownEvents(text: string): MarkdownEvent[] {
  const parser = parse({ extensions: [gfmTable()] });
  return postprocess(parser.document().write(preprocess()(text, undefined, true)));
}
