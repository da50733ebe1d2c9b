import { Refusal } from '../refusals.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Route {
  readonly method: Method;
  /** For example `/r/{readId}/{file}`. A literal segment wins over a parameter if both lead to a route. */
  readonly path: string;
  /** Whether the route takes these parameters of its path; by default all. */
  accepts?: ((parameters: readonly string[]) => boolean) | undefined;
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  readonly routes: R[];
}

interface Match<R> {
  /** Undefined if no route has this method and path. */
  readonly route: R | undefined;
  /** The decoded values of the path's parameters, in order. */
  readonly parameters: readonly string[];
  /** Without a route: the methods of the path, in the order of the table; none for an unknown path. */
  readonly allow: readonly Method[];
}

export class Router<R extends Route> {
  readonly #root: Node<R> = { literals: new Map(), parameter: undefined, routes: [] };
  readonly #routes: readonly R[];

  /** Of two routes of one method and path, the first that accepts the parameters wins. */
  constructor(routes: readonly R[]) {
    this.#routes = routes;
    for (const route of routes) this.#add(route);
  }

  #add(route: R): void {
    let node = this.#root;
    for (const segment of route.path.split('/').slice(1)) {
      const isParameter = segment.startsWith('{');
      let next = isParameter ? node.parameter : node.literals.get(segment);
      if (next === undefined) {
        next = { literals: new Map(), parameter: undefined, routes: [] };
        if (isParameter) node.parameter = next;
        else node.literals.set(segment, next);
      }
      node = next;
    }
    const first = node.routes.find(({ method }) => method === route.method);
    if (first !== undefined && first.accepts === undefined)
      throw new Error(`two routes for ${route.method} ${route.path}`);
    node.routes.push(route);
  }

  /**
   * @param path the raw path, beginning with a slash; one trailing slash is ignored
   * @throws Refusal `invalid_request` for a bad percent-encoding
   */
  match(method: string, path: string): Match<R> {
    const bare = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    const parameters: string[] = [];
    const others: R[] = [];
    const route = findRoute(this.#root, bare, 1, parameters, (routes) => {
      for (const one of routes) {
        if (one.accepts?.(parameters) === false) continue;
        if (one.method === method) return one;
        others.push(one);
      }
      return undefined;
    });
    if (route !== undefined) return { route, parameters, allow: [] };
    const methods = this.#routes.filter((one) => others.includes(one)).map((one) => one.method);
    return { route, parameters: [], allow: [...new Set(methods)] };
  }
}

/**
 * Visits the nodes of a path, literals first, until `choose` picks a route.
 * @param start of the next segment
 * @param parameters of the segments before
 */
function findRoute<R>(
  node: Node<R>,
  path: string,
  start: number,
  parameters: string[],
  choose: (routes: readonly R[]) => R | undefined,
): R | undefined {
  if (start > path.length) return choose(node.routes);
  const slash = path.indexOf('/', start);
  const stop = slash === -1 ? path.length : slash;
  const segment = decode(path.slice(start, stop));
  const literal = node.literals.get(segment);
  const found = literal && findRoute(literal, path, stop + 1, parameters, choose);
  if (found !== undefined || node.parameter === undefined || segment === '') return found;
  parameters.push(segment);
  const other = findRoute(node.parameter, path, stop + 1, parameters, choose);
  if (other === undefined) parameters.pop();
  return other;
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new Refusal('invalid_request', 'The path holds a percent-encoding that is not UTF-8.', { cause });
  }
}
