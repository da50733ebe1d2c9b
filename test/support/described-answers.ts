import { problems, resolve } from './json-schema.ts';
import { ask, type Reply } from './service.ts';

/** A request for one operation of the API description. */
export interface DescribedRequest {
  /** The operation's id. */
  id: string;
  /** Values of the path's parameters. */
  path?: Record<string, string>;
  /** Behind the path, with its question mark. */
  query?: string;
  headers?: Record<string, string>;
  body?: RequestInit['body'];
  /** For an answer that does not end. */
  method?: 'HEAD';
  /** The status it must be answered with. */
  status: number;
}

/** Headers that every HTTP server sends, and that OpenAPI describes elsewhere. */
const UNDESCRIBED = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'uwebsockets',
]);

/** Sends requests and compares their answers with the service's own OpenAPI document. */
export class DescribedService {
  readonly #url: string;
  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
  readonly document: any;
  /** What has been answered so far: `operation status`. */
  readonly seen = new Set<string>();
  /** `METHOD path` of each operation id. */
  readonly operations = new Map<string, { method: string; path: string }>();

  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
  constructor(url: string, document: any) {
    this.#url = url;
    this.document = document;
    for (const [path, item] of Object.entries<Record<string, { operationId: string }>>(document.paths))
      for (const [method, { operationId }] of Object.entries(item))
        this.operations.set(operationId, { method, path });
  }

  /** Reads the document of a running service. */
  static async of(url: string): Promise<DescribedService> {
    return new DescribedService(url, (await ask(`${url}/api/v1/openapi.json`)).json);
  }

  /** The reply, and what of it is not as described. */
  async ask(request: DescribedRequest): Promise<{ reply: Reply; problems: string[] }> {
    const { method, path } = this.operations.get(request.id)!;
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(request.path?.[name] ?? name));
    const reply = await ask(this.#url + filled + (request.query ?? ''), {
      method: request.method ?? method.toUpperCase(),
      ...(request.headers && { headers: request.headers }),
      ...(request.body !== undefined && { body: request.body }),
    });
    this.seen.add(`${request.id} ${reply.status}`);
    return { reply, problems: this.problems(request.id, reply) };
  }

  /** What of a reply is not as described. */
  problems(id: string, reply: Reply): string[] {
    const { method, path } = this.operations.get(id)!;
    const described = this.#followed(this.document.paths[path][method].responses[reply.status]);
    if (described === undefined) return [`${id} does not describe ${reply.status}: ${reply.text}`];
    return [...this.#headerProblems(described, reply), ...this.#bodyProblems(described, reply)].map(
      (problem) => `${id} ${reply.status}: ${problem}`,
    );
  }

  // biome-ignore lint/suspicious/noExplicitAny: part of an OpenAPI document
  #followed(part: any): any {
    return part?.$ref === undefined ? part : resolve(this.document, part.$ref);
  }

  #headerProblems(described: { headers?: object }, { headers }: Reply): string[] {
    const known = new Set(Object.keys(described.headers ?? {}).map((name) => name.toLowerCase()));
    return [...headers.keys()]
      .filter((name) => !known.has(name) && !UNDESCRIBED.has(name))
      .map((name) => `the header ${name} is not described`);
  }

  // biome-ignore lint/suspicious/noExplicitAny: part of an OpenAPI document
  #bodyProblems(described: any, reply: Reply): string[] {
    if (described.content === undefined) return reply.bytes.length === 0 ? [] : ['a body is not described'];
    const type = reply.headers.get('content-type') ?? 'no type';
    const schema = (described.content[type] ?? described.content[type.split(';')[0]!])?.schema;
    if (schema === undefined) return [`${type} is not described`];
    if (!/json/.test(type)) return [];
    return problems(this.document, schema, reply.json);
  }
}
