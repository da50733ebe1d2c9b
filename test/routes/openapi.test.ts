/** The API description is a sound OpenAPI 3.1 document of the whole table of operations. */
import t from 'tap';
import { REFUSALS } from '../../src/refusals.ts';
import type { OperationParts } from '../../src/routes/operation.ts';
import { operations } from '../../src/routes/operations.ts';
import { exactly } from '../support/exact-request.ts';
import { resolve } from '../support/json-schema.ts';
import { ask, start } from '../support/service.ts';

const { url } = await start(t, { SERVICE_PASSWORD: 'instance password' });
const { json: document } = await ask(`${url}/api/v1/openapi.json`);
// Nothing of the parts is used before a request comes.
const table = operations({ site: { takesReports: true }, publicUrl: undefined } as OperationParts);

interface Described {
  method: string;
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: an Operation Object
  operation: any;
}

const described: Described[] = Object.entries<object>(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
);

function* nodes(node: unknown): Generator<Record<string, unknown>> {
  if (typeof node !== 'object' || node === null) return;
  yield node as Record<string, unknown>;
  for (const child of Object.values(node)) yield* nodes(child);
}

t.test('everybody may read it, keep it and ask whether it changed', async (t) => {
  const reply = await exactly(`${url}/api/v1/openapi.json`);
  t.match(reply, {
    status: 200,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'public, max-age=60',
      'access-control-allow-origin': '*',
      'x-content-type-options': 'nosniff',
    },
  });
  for (const coding of ['gzip', 'br']) {
    const packed = await exactly(`${url}/api/v1/openapi.json`, { headers: { 'accept-encoding': coding } });
    t.equal(packed.headers['content-encoding'], coding);
    t.ok(packed.bytes.length < reply.bytes.length / 4);
  }
  const again = await exactly(`${url}/api/v1/openapi.json`, {
    headers: { 'if-none-match': reply.headers.etag as string },
  });
  t.equal(again.status, 304);
});

t.test('it says which types the parts of a form may have', async (t) => {
  for (const path of ['/{feed}', '/api/v1/feeds/{feed}/notes'])
    t.match(document.paths[path].post.requestBody.content['multipart/form-data'].encoding, {
      text: { contentType: 'text/markdown' },
      file: { contentType: 'image/png, image/jpeg, image/gif, image/webp' },
    });
});

t.test('it has what OpenAPI 3.1 asks of a document', async (t) => {
  t.match(document.openapi, /^3\.1\.\d$/);
  t.type(document.info.title, 'string');
  t.type(document.info.version, 'string');
  for (const part of Object.values<object>(document.components))
    for (const key of Object.keys(part)) t.match(key, /^[\w.-]+$/);
  const tags = document.tags.map(({ name }: { name: string }) => name);
  for (const { path, operation } of described) {
    t.ok(tags.includes(operation.tags[0]), path);
    t.ok(operation.summary);
    t.ok(Object.keys(operation.responses).some((status) => /^[23]/.test(status)));
    for (const needed of operation.security)
      for (const name of Object.keys(needed)) t.ok(document.components.securitySchemes[name]);
    for (const response of Object.values<Record<string, unknown>>(operation.responses)) {
      const { description } = (
        response.$ref ? resolve(document, response.$ref as string) : response
      ) as Record<string, unknown>;
      t.type(description, 'string');
    }
  }
});

t.test('every reference leads somewhere, and every component is referred to', async (t) => {
  const references = new Set<string>();
  for (const { $ref } of nodes(document)) if (typeof $ref === 'string') references.add($ref);
  for (const reference of references) t.ok(resolve(document, reference), reference);
  for (const kind of ['schemas', 'responses', 'parameters', 'headers'])
    for (const key of Object.keys(document.components[kind]))
      t.ok(references.has(`#/components/${kind}/${key}`), `${kind} ${key}`);
});

t.test('every operation of the table is there but for pages, and no other', async (t) => {
  const documented = table.filter(({ docs }) => docs !== undefined);
  const inTable = documented.map(({ id, method, path }) => `${id} ${method.toLowerCase()} ${path}`).sort();
  const inDocument = described.map(
    ({ method, path, operation }) => `${operation.operationId} ${method} ${path}`,
  );
  t.same(inDocument.sort(), inTable);
  t.equal(new Set(table.map(({ id }) => id)).size, table.length);
});

t.test('the parameters of a path are declared, all of them and no others', async (t) => {
  for (const { path, operation } of described) {
    const declared = (operation.parameters ?? [])
      .map(({ $ref }: { $ref: string }) => resolve(document, $ref))
      .filter((parameter: { in: string }) => parameter.in === 'path');
    for (const parameter of declared) t.equal(parameter.required, true);
    t.same(
      declared.map(({ name }: { name: string }) => name),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      path,
    );
  }
});

t.test('errors stand under the status of their codes', async (t) => {
  for (const { operation } of described)
    for (const [status, { $ref }] of Object.entries<{ $ref?: string }>(operation.responses)) {
      if ($ref === undefined) continue;
      const { schema } = (resolve(document, $ref) as { content: Record<string, { schema: never }> }).content[
        'application/json'
      ] as {
        schema: { allOf: [unknown, { properties: { code: { enum: (keyof typeof REFUSALS)[] } } }] };
      };
      const codes = schema.allOf[1].properties.code.enum;
      t.ok(codes.length > 0);
      for (const code of codes) t.equal(REFUSALS[code].status, Number(status), code);
    }
});

t.test('texts beyond ASCII: both encodings are told', async (t) => {
  for (const [key, name] of [
    ['title', 'X-Note-Title'],
    ['alt', 'X-Note-Alt'],
    ['name', 'X-Note-Name'],
  ] as const) {
    const { description } = document.components.parameters[key];
    for (const part of ['RFC 2047', `\`${name}*\` (RFC 8187)`])
      t.ok(description.includes(part), `${name}: ${part}`);
  }
});
