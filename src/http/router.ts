import { Refusal } from '../refusals.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The part of an operation that routing looks at. */
export interface Route {
  readonly method: Method;
  /** For example `/r/{read_id}/{file}`. A literal segment wins over a parameter. */
  readonly path: string;
  /** Also taken where a literal path of the same shape exists without this method (contract §1, posting). */
  readonly overLiteral?: boolean;
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  readonly routes: Map<string, R>;
}

export interface Match<R> {
  /** Undefined where the path is not known. */
  readonly route: R | undefined;
  /** The values of the path's parameters in order, decoded. */
  readonly parameters: readonly string[];
  /** Where there is no route: the methods that the path has, in the order of the table. */
  readonly allow: readonly string[];
}

/** Percent-decodes one path segment. */
function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new Refusal('invalid_request', 'The path holds a percent-encoding that is not UTF-8.', { cause });
  }
}

const NOT_FOUND = { route: undefined, parameters: [], allow: [] };

/** Finds the route of a method and path in one table. */
export class Router<R extends Route> {
  readonly #root: Node<R> = { literals: new Map(), parameter: undefined, routes: new Map() };

  constructor(routes: readonly R[]) {
    for (const route of routes) this.#add(route);
  }

  #add(route: R): void {
    let node = this.#root;
    for (const segment of route.path.split('/').slice(1)) {
      const isParameter = segment.startsWith('{');
      let next = isParameter ? node.parameter : node.literals.get(segment);
      if (next === undefined) {
        next = { literals: new Map(), parameter: undefined, routes: new Map() };
        if (isParameter) node.parameter = next;
        else node.literals.set(segment, next);
      }
      node = next;
    }
    if (node.routes.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    node.routes.set(route.method, route);
  }

  /**
   * @param path the raw path, beginning with a slash; one trailing slash is ignored
   * @throws Refusal `invalid_request` for a bad percent-encoding
   */
  match(method: string, path: string): Match<R> {
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length;
    const parameters: string[] = [];
    let node: Node<R> = this.#root;
    let parent = node;
    let segment = '';
    for (let start = 1; start <= end; ) {
      let stop = path.indexOf('/', start);
      if (stop === -1 || stop > end) stop = end;
      segment = decode(path.slice(start, stop));
      const literal = node.literals.get(segment);
      const next: Node<R> | undefined = literal ?? (segment === '' ? undefined : node.parameter);
      if (next === undefined) return NOT_FOUND;
      if (literal === undefined) parameters.push(segment);
      parent = node;
      node = next;
      start = stop + 1;
    }
    const route = node.routes.get(method);
    if (route !== undefined) return { route, parameters, allow: [] };
    const over = parent.parameter?.routes.get(method);
    if (over?.overLiteral && node !== parent.parameter && segment !== '')
      return { route: over, parameters: [...parameters, segment], allow: [] };
    return { route: undefined, parameters, allow: [...node.routes.keys()] };
  }
}
