/** The part of commonmark.js that the tests use; it comes without types. */
declare module 'commonmark' {
  interface Node {
    readonly type: string;
    readonly literal: string | null;
    readonly destination: string | null;
    readonly title: string | null;
    readonly info: string | null;
    readonly level: number | null;
    readonly listType: string | null;
    readonly listTight: boolean | null;
    readonly listStart: number | null;
    readonly firstChild: Node | null;
    readonly next: Node | null;
  }
  class Parser {
    parse(text: string): Node;
  }
}
