import { mediaType, PICTURE_TYPES } from '../feeds/note-types.ts';
import { REFUSALS, type RefusalCode } from '../refusals.ts';
import { TEXT_TYPES, UNKNOWN_PICTURE } from '../requests/content-type.ts';
import { componentOf, jsonSchemas } from '../schemas.ts';
import type { DescribedOperation } from './operation.ts';
import {
  type AnswerDocs,
  type ContentDocs,
  type OperationDocs,
  PARAMETERS,
  RESPONSE_HEADERS,
  TAGS,
} from './operation-docs.ts';

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
      'objects that they do not know. A known path answers 405 `method_not_allowed` to a method that it does not have.',
  ].join('\n\n'),
};

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description });
const SECURITY_SCHEMES = {
  instancePassword: bearer('The password of the instance, if it has one. It is checked first.'),
  metricsToken: bearer('`SERVICE_METRICS_TOKEN`, if it is set.'),
  operatorToken: bearer('`SERVICE_OPERATOR_TOKEN`.'),
  basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'For hooks: the password of the instance, and as user name the password of the feed, if they have one.',
  },
  feedPassword: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Feed-Password',
    description:
      'The password of the feed, if it has one: 1 to 256 printable ASCII characters, no space at either end. ' +
      'With the post that makes a feed, it becomes its password.',
  },
};

/** Each password is needed only if it is set, which only the service knows. */
const BY_NAME = [
  {},
  { instancePassword: [] },
  { feedPassword: [] },
  { instancePassword: [], feedPassword: [] },
];
const STORAGE_ERRORS: readonly RefusalCode[] = ['busy', 'store_unavailable'];
/** Of reads by the read id. */
const READ_ERRORS: readonly RefusalCode[] = ['not_found', 'removed', ...STORAGE_ERRORS];
/** Of operations by the name of a feed, which need not exist. */
const NAME_ERRORS: readonly RefusalCode[] = [
  'invalid_feed',
  'reserved_feed',
  'auth',
  'too_many_attempts',
  ...STORAGE_ERRORS,
];
const PREVIEW_ERRORS: readonly RefusalCode[] = [...NAME_ERRORS, 'foreign_form', 'rate_limited'];
const CHANGE_ERRORS: readonly RefusalCode[] = [...PREVIEW_ERRORS, 'storage_full'];
/** By the kind of access: what to send, and the errors. Neither for everybody; pages and forms are not described. */
const ACCESS: Readonly<
  Partial<Record<DescribedOperation['access'], [readonly object[], readonly RefusalCode[]]>>
> = {
  metrics: [
    [{}, { metricsToken: [] }],
    ['auth', 'too_many_attempts', 'not_found'],
  ],
  operator: [[{ operatorToken: [] }], ['auth', 'too_many_attempts', 'not_found', 'store_unavailable']],
  reader: [BY_NAME, NAME_ERRORS],
  previewer: [BY_NAME, PREVIEW_ERRORS],
  poster: [BY_NAME, [...CHANGE_ERRORS, 'blocked']],
  writer: [BY_NAME, [...CHANGE_ERRORS, 'blocked', 'not_found']],
};
const JSON_ERRORS: readonly RefusalCode[] = ['invalid_body', 'too_large', 'timeout', 'busy'];
const NOTE_ERRORS: readonly RefusalCode[] = [
  ...JSON_ERRORS,
  'empty_note',
  'license_required',
  'images_off',
  'unsupported_type',
];

/** Errors that every operation may answer with. */
const COMMON_ERRORS: readonly RefusalCode[] = ['invalid_request', 'internal'];

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
    // Relative to this document, so that it is right behind any proxy.
    servers: [{ url: publicUrl ?? '../..' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: paths(table),
    components: {
      schemas: jsonSchemas(),
      responses: Object.fromEntries(
        table.flatMap(refusalsOf).map(({ name, component }) => [name, component()]),
      ),
      parameters: mapValues(PARAMETERS, (parameter) =>
        parameter.in === 'path' ? { ...parameter, required: true } : parameter,
      ),
      headers: mapValues(RESPONSE_HEADERS, (description) => ({ description, schema: { type: 'string' } })),
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

/** Members that are undefined are left out of the JSON. */
function operationObject(operation: Documented): Json {
  const { id, path, access, docs, cors, takesBasic } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const parameters = [...inPath, ...(docs.parameters ?? [])];
  const refused = refusalsOf(operation).map(({ name, status }) => [
    status,
    { $ref: `#/components/responses/${name}` },
  ]);
  return {
    operationId: id,
    tags: [docs.tag],
    summary: docs.summary,
    description: docs.description,
    security: [...(ACCESS[access]?.[0] ?? []), ...(takesBasic ? [{ basic: [] }] : [])],
    parameters:
      parameters.length === 0
        ? undefined
        : parameters.map((key) => ({ $ref: `#/components/parameters/${key}` })),
    requestBody: docs.body && { required: true, content: bodyContent(docs.body) },
    // If an error shares its status with another answer, that answer says more.
    responses: {
      ...Object.fromEntries(refused),
      ...mapValues(docs.answers, (answer) => answerObject(answer, cors)),
    },
  };
}

/** Else a part of bytes would be `application/octet-stream`, which is refused. */
const PART_TYPES = {
  text: { contentType: mediaType('md') },
  file: { contentType: PICTURE_TYPES.map(mediaType).join(', ') },
};

const FORM = 'application/x-www-form-urlencoded';
/** A payload of a program that sends forms. */
const PAYLOAD_FORM = { type: 'object', properties: { payload: { type: 'string' } }, required: ['payload'] };

function bodyContent(body: NonNullable<OperationDocs['body']>): Json {
  if (body === 'zip') return contentObject({ 'application/zip': 'bytes' });
  if (body === 'payload') return contentObject({ 'application/json': {}, [FORM]: PAYLOAD_FORM });
  if (body !== 'note' && body !== 'newNote') return contentObject({ 'application/json': body });
  const texts = [...TEXT_TYPES].map((type) => [type, 'text']);
  const pictures = [...PICTURE_TYPES.map(mediaType), UNKNOWN_PICTURE].map((type) => [type, 'bytes']);
  return {
    ...contentObject(Object.fromEntries([...texts, ...pictures])),
    'multipart/form-data': { schema: contentSchema('NoteForm'), encoding: PART_TYPES },
    ...(body === 'newNote' && contentObject({ 'application/json': 'TextNote' })),
  };
}

/** An operation's errors by status. Operations with the same errors share the name of their description. */
function refusalsOf({ access, docs, cors }: Documented) {
  const { body, tag, refusals = [] } = docs;
  const ofAccess = tag === 'Reading' ? READ_ERRORS : (ACCESS[access]?.[1] ?? []);
  const isNote = body === 'note' || body === 'newNote';
  const ofBody = body === undefined ? [] : isNote ? NOTE_ERRORS : JSON_ERRORS;
  const codes = [...new Set([...COMMON_ERRORS, ...ofAccess, ...ofBody, ...refusals])].sort();
  return [...Map.groupBy(codes, (code) => REFUSALS[code].status)].map(([status, codes]) => {
    const name = [...(cors ? ['public'] : []), ...codes].join('.');
    return { name, status, component: () => answerObject(refusalDocs(codes), cors) };
  });
}

function refusalDocs(codes: readonly RefusalCode[]): AnswerDocs {
  const refusals = codes.map((code) => REFUSALS[code]);
  const narrowed = { type: 'object', properties: { code: { enum: codes } }, required: ['code'] };
  return {
    description: codes.map((code) => `\`${code}\`: ${REFUSALS[code].meaning}.`).join(' '),
    headers: ['Cache-Control', ...refusals.flatMap((refusal) => ('header' in refusal ? refusal.header : []))],
    content: { 'application/json': { allOf: [{ $ref: componentOf('Error') }, narrowed] } },
  };
}

/** An answer, with the headers that the front end adds. */
function answerObject({ description, content, ...answer }: AnswerDocs, cors = false): Json {
  const headers: string[] = [...(answer.headers ?? []), 'X-Request-Id'];
  if (content !== undefined) headers.push('X-Content-Type-Options');
  if (cors) headers.push('Access-Control-Allow-Origin');
  const references = headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { description, headers: Object.fromEntries(references), content: content && contentObject(content) };
}

function contentObject(content: Readonly<Record<string, ContentDocs>>): Json {
  return mapValues(content, (docs) => ({ schema: contentSchema(docs) }));
}

function contentSchema(docs: ContentDocs): Json {
  if (docs === 'text') return { type: 'string' };
  // OpenAPI 3.1 needs no schema here; the format changes nothing, but tools recognize bytes by it.
  if (docs === 'bytes') return { type: 'string', format: 'binary' };
  return typeof docs === 'object' ? docs : { $ref: componentOf(docs) };
}

function mapValues<T>(record: Readonly<Record<string, T>>, change: (value: T, key: string) => unknown): Json {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}
