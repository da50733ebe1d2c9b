const BLANK = /^[ \t]*$/;
/** Every line that is not just text starts with one of these. */
const MAY_BE_MARKED = /^[ \t]*[#=\-*_`~>+\d]/;
const ATX_HEADING = /^ {0,3}#{1,6}(?:[ \t]+(.*))?$/s;
const ATX_END = /(?:^|[ \t])#+[ \t]*$/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const THEMATIC_BREAK = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/;
const INDENTED = /^(?: {4}| {0,3}\t)/;
/** The marks of quotes, list items and task boxes. */
const CONTAINER_MARKS = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?:[ \t]+\[[ xX]\])?(?=[ \t]|$)))+/;
/** A definition of a link on one line. */
const DEFINITION =
  /^ {0,3}\[((?:\\.|[^\\[\]])+)\]:[ \t]*(?:<(?:\\.|[^\\<>])*>|[^\s<]\S*)(?:[ \t]+(?:"(?:\\.|[^\\"])*"|'(?:\\.|[^\\'])*'|\((?:\\.|[^\\()])*\)))?[ \t]*$/;

/** A line of markdown, for finding headings. */
interface Line {
  /** `heading`: a heading ends here. `text`: something a reader sees. `other`: blank, a rule, or code in a fence. */
  readonly kind: 'heading' | 'text' | 'other';
  /** The heading, or the line without the marks of quotes, lists and headings in them; empty for `other`. */
  readonly text: string;
}

/** The code fence that is open. */
interface Fence {
  /** Its run of backticks or tildes. */
  readonly marks: string;
  /** Whether it is in a quote or list item, and ends with it. */
  readonly contained: boolean;
}

const OTHER: Line = { kind: 'other', text: '' };

/**
 * Reads the lines of a markdown text one by one and finds its headings outside quotes and lists, as CommonMark 0.31
 * has them in sections 4.2, 4.3 and 4.5. Spends on each line time linear in its length.
 */
export class BlockScanner {
  #fence: Fence | undefined;
  /** The lines of the open paragraph, joined; undefined when none is open. */
  #paragraph: string[] | undefined;
  /** Whether the open paragraph is in a quote or list item. */
  #contained = false;

  /** Takes the next line, without its line end. */
  next(line: string): Line {
    if (this.#fence && this.#staysInFence(this.#fence, line)) return OTHER;
    if (BLANK.test(line)) return this.#endParagraph();
    return MAY_BE_MARKED.test(line) ? this.#marked(line) : this.#plain(line);
  }

  #marked(line: string): Line {
    const paragraph = this.#paragraph;
    if (paragraph && !this.#contained && UNDERLINE.test(line)) {
      this.#endParagraph();
      return { kind: 'heading', text: paragraph.join(' ') };
    }
    const heading = atxHeading(line);
    if (heading !== undefined) {
      this.#endParagraph();
      return { kind: 'heading', text: heading };
    }
    if (THEMATIC_BREAK.test(line)) return this.#endParagraph();
    return this.#container(line);
  }

  #container(line: string): Line {
    if (INDENTED.test(line)) return this.#plain(line);
    const marks = CONTAINER_MARKS.exec(line)?.[0] ?? '';
    const text = line.slice(marks.length);
    const fence = FENCE.exec(text.trimStart());
    if (fence) {
      this.#fence = { marks: fence[0], contained: marks !== '' };
      return this.#endParagraph();
    }
    if (marks === '') return this.#plain(line);
    this.#paragraph = [];
    this.#contained = true;
    return { kind: 'text', text: atxHeading(text.trimStart()) ?? text };
  }

  #plain(line: string): Line {
    if (this.#paragraph) this.#paragraph.push(line.trim());
    else if (definedLabel(line) !== undefined) return OTHER;
    else if (!INDENTED.test(line)) this.#paragraph = [line.trim()];
    return { kind: 'text', text: line };
  }

  #endParagraph(): Line {
    this.#paragraph = undefined;
    this.#contained = false;
    return OTHER;
  }

  /** Whether the line belongs to the open fence; closes the fence when it ends with or before this line. */
  #staysInFence(fence: Fence, line: string): boolean {
    const leftContainer = fence.contained && /^[^\s>]/.test(line);
    const code = fence.contained ? line.replace(/^[\s>]+/, '') : line.trimStart();
    const end = code.trimEnd();
    const closes =
      end.length >= fence.marks.length &&
      end === fence.marks.charAt(0).repeat(end.length) &&
      (fence.contained || !INDENTED.test(line));
    if (leftContainer || closes) this.#fence = undefined;
    return !leftContainer;
  }
}

/** The label that a line defines; undefined for any other line. */
export function definedLabel(line: string): string | undefined {
  return line.includes(']:') ? DEFINITION.exec(line)?.[1] : undefined;
}

/** The text of an ATX heading, or undefined for any other line. */
function atxHeading(line: string): string | undefined {
  const match = ATX_HEADING.exec(line);
  return match ? (match[1] ?? '').replace(ATX_END, '') : undefined;
}
