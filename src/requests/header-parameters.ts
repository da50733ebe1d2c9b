/** One parameter with what precedes it; a semicolon may be followed by none. */
const PARAMETER = /[ \t]*;[ \t]*(?:([!#$%&'*+.^`|~\w-]+)=(?:"((?:[^"\\]|\\[\s\S])*)"|([^\s;"]*)))?[ \t]*/y;

/** A header value with parameters, for example `form-data; name="text"`. */
export interface ParameterizedValue {
  /** What stands in front of the parameters, in lower case. */
  readonly value: string;
  /** By name, in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Takes a header value with parameters apart. A value without quotes may hold any characters up to a space or
 * semicolon: some clients send a boundary such as `=_1` like that.
 *
 * In quotes, a backslash escapes a quote and itself (RFC 9110 quoted-pair, as older curl writes names) and is a plain
 * character before any other, as browsers write it.
 * @returns undefined for a malformed value, and for one that names a parameter twice
 */
export function parseParameters(header: string): ParameterizedValue | undefined {
  const semicolon = header.indexOf(';');
  const end = semicolon === -1 ? header.length : semicolon;
  const parameters = new Map<string, string>();
  for (PARAMETER.lastIndex = end; PARAMETER.lastIndex < header.length; ) {
    const match = PARAMETER.exec(header);
    if (match === null) return undefined;
    const [, name, quoted, plain = ''] = match;
    if (name === undefined) continue;
    const key = name.toLowerCase();
    if (parameters.has(key)) return undefined;
    parameters.set(key, quoted === undefined ? plain : quoted.replace(/\\(["\\])/g, '$1'));
  }
  return { value: header.slice(0, end).trim().toLowerCase(), parameters };
}
