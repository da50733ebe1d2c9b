import { mediaType, NOTE_TYPES, PICTURE_TYPES } from '../feeds/note-types.ts';
import { REFUSAL_STATUS, type RefusalCode } from '../refusals.ts';
import type { DescribedOperation } from './operation.ts';
import { type AnswerDocs, type ContentDocs, type OperationDocs, TAGS } from './operation-docs.ts';
import { PARAMETERS } from './parameters.ts';
import { REFUSAL_HEADERS, REFUSAL_TEXTS } from './refusal-docs.ts';
import { RESPONSE_HEADERS, type ResponseHeader } from './response-headers.ts';
import { componentOf, jsonSchemas } from './schemas.ts';

type Json = Record<string, unknown>;

const INFO = {
  title: 'Note Feed Service',
  // Of the API: the v1 of its paths.
  version: '1',
  license: { name: 'MIT', identifier: 'MIT' },
  description: [
    'Short notes in named feeds: markdown or pictures, read by RSS. A feed is made by its first note. Its name is the ' +
      'key to write to it; its read link is for everybody who may read it.',
    'HEAD works wherever GET does, and a slash at the end of a path changes nothing. Sizes in KB are of 1,024 bytes. ' +
      'Answers are compressed with gzip or brotli for clients that accept it. Clients must ignore members of JSON ' +
      'objects that they do not know. A known path answers 405 `method_not_allowed` to a method that it does not take.',
  ].join('\n\n'),
};

const SECURITY_SCHEMES = {
  instancePassword: {
    type: 'http',
    scheme: 'bearer',
    description: 'The password of the instance, where it has one. It is checked first.',
  },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of the metrics, where they have one.',
  },
  operatorToken: { type: 'http', scheme: 'bearer', description: 'The token of the operator.' },
  feedPassword: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Feed-Password',
    description:
      'The password of the feed, where it has one: 1 to 256 printable ASCII characters, no space at either end. ' +
      'With the post that makes a feed, it becomes its password.',
  },
};

/** Each password is needed only where there is one, and only the service knows that. */
const BY_NAME = [
  {},
  { instancePassword: [] },
  { feedPassword: [] },
  { instancePassword: [], feedPassword: [] },
];
/** Pages and forms are not described. */
const SECURITY: Readonly<Partial<Record<DescribedOperation['access'], readonly object[]>>> = {
  public: [],
  page: [],
  assistant: [{}, { instancePassword: [] }],
  metrics: [{}, { metricsToken: [] }],
  operator: [{ operatorToken: [] }],
  reader: BY_NAME,
  writer: BY_NAME,
  previewer: BY_NAME,
  poster: BY_NAME,
};

/** Errors that every operation may answer with. */
const ALWAYS: readonly RefusalCode[] = ['invalid_request', 'internal'];

type Documented = DescribedOperation & { readonly docs: OperationDocs };

/** The OpenAPI 3.1 document of a table of operations (https://spec.openapis.org/oas/v3.1.1.html). */
export function openApiDocument(
  operations: readonly DescribedOperation[],
  publicUrl: string | undefined,
): Json {
  const table = operations.filter((operation): operation is Documented => operation.docs !== undefined);
  return {
    openapi: '3.1.1',
    info: INFO,
    // Else from this document's own address, so that it is right behind any proxy.
    servers: [{ url: publicUrl ?? '../..' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: paths(table),
    components: {
      schemas: jsonSchemas(),
      responses: refusalComponents(table),
      parameters: mapped(PARAMETERS, (parameter) =>
        parameter.in === 'path' ? { ...parameter, required: true } : parameter,
      ),
      headers: mapped(RESPONSE_HEADERS, (description) => ({ description, schema: { type: 'string' } })),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function paths(table: readonly Documented[]): Json {
  const found: Record<string, Json> = {};
  for (const operation of table) {
    found[operation.path] ??= {};
    found[operation.path]![operation.method.toLowerCase()] = operationObject(operation);
  }
  return found;
}

function operationObject(operation: Documented): Json {
  const { id, path, docs } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const parameters = [...inPath, ...(docs.parameters ?? [])];
  return {
    operationId: id,
    tags: [docs.tag],
    summary: docs.summary,
    ...(docs.description === undefined ? {} : { description: docs.description }),
    security: SECURITY[operation.access] ?? [],
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((key) => ({ $ref: `#/components/parameters/${key}` })) }),
    ...(docs.body === undefined ? {} : { requestBody: { required: true, content: bodyContent(docs.body) } }),
    responses: responses(operation),
  };
}

/** Without it a part of bytes would be `application/octet-stream`, which is refused. */
const PART_TYPES = {
  text: { contentType: mediaType('md') },
  file: { contentType: PICTURE_TYPES.map(mediaType).join(', ') },
};

function bodyContent(body: NonNullable<OperationDocs['body']>): Json {
  if (body !== 'note') return contentObject({ 'application/json': body });
  const raw = NOTE_TYPES.map((type) => [mediaType(type), type === 'md' ? 'text' : 'bytes']);
  return {
    ...contentObject(Object.fromEntries(raw)),
    'multipart/form-data': { schema: contentSchema('NoteForm'), encoding: PART_TYPES },
  };
}

/** Where an error shares its status with another answer, that answer says more. */
function responses(operation: Documented): Json {
  const { docs, cors } = operation;
  const refused = [...refusals(operation)].map(([status, codes]) => [
    status,
    { $ref: `#/components/responses/${refusalName(codes, cors)}` },
  ]);
  return {
    ...Object.fromEntries(refused),
    ...mapped(docs.answers, (answer, status) => answerObject(answer, status, cors)),
  };
}

/** The codes of an operation's errors, by status. */
function refusals({ docs }: Documented): Map<number, RefusalCode[]> {
  const codes = [...new Set([...ALWAYS, ...docs.refusals])].sort();
  return Map.groupBy(codes, (code) => REFUSAL_STATUS[code]);
}

/** Operations with the same errors share their description. */
function refusalComponents(table: readonly Documented[]): Json {
  const found = table.flatMap((operation) =>
    [...refusals(operation).values()].map((codes) => [
      refusalName(codes, operation.cors),
      refusalObject(codes, operation.cors),
    ]),
  );
  return Object.fromEntries(found);
}

function refusalName(codes: readonly RefusalCode[], cors = false): string {
  return [...(cors ? ['public'] : []), ...codes].join('.');
}

function answerObject(answer: AnswerDocs, status: string, cors = false): Json {
  const { description, headers = [], content } = answer;
  const common = headersOf(Number(status));
  if (content !== undefined) common.push('X-Content-Type-Options');
  if (cors) common.push('Access-Control-Allow-Origin');
  return {
    description,
    headers: headerObjects([...headers, ...common]),
    ...(content === undefined ? {} : { content: contentObject(content) }),
  };
}

function refusalObject(codes: readonly RefusalCode[], cors = false): Json {
  const headers = codes.flatMap((code) => [
    ...headersOf(REFUSAL_STATUS[code]),
    ...(REFUSAL_HEADERS[code] ?? []),
  ]);
  if (cors) headers.push('Access-Control-Allow-Origin');
  const narrowed = { type: 'object', properties: { code: { enum: codes } }, required: ['code'] };
  return {
    description: codes.map((code) => `\`${code}\`: ${REFUSAL_TEXTS[code]}.`).join(' '),
    headers: headerObjects(['Cache-Control', 'X-Content-Type-Options', ...headers]),
    content: { 'application/json': { schema: { allOf: [{ $ref: componentOf('Error') }, narrowed] } } },
  };
}

/** What the front end adds to every answer of a status. */
function headersOf(status: number): ResponseHeader[] {
  return status >= 500 ? ['X-Request-Id'] : [];
}

function headerObjects(names: readonly ResponseHeader[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function contentObject(content: Readonly<Record<string, ContentDocs>>): Json {
  return mapped(content, (docs) => ({ schema: contentSchema(docs) }));
}

function contentSchema(docs: ContentDocs): Json {
  if (docs === 'text') return { type: 'string' };
  // OpenAPI 3.1 wants no schema here; the format changes nothing, and tools know bytes by it.
  if (docs === 'bytes') return { type: 'string', format: 'binary' };
  return { $ref: componentOf(docs) };
}

function mapped<T>(record: Readonly<Record<string, T>>, change: (value: T, key: string) => unknown): Json {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}
