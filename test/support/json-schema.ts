/** A schema of an OpenAPI 3.1 document, as far as ours go. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  pattern?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
}

const CHECKED = new Set(
  '$ref type format enum const minimum maximum pattern required properties additionalProperties items allOf anyOf'
    .split(' ')
    .concat('description', 'examples', 'default'),
);

/** Looks up `#/a/b` in a document. */
export function resolve(document: unknown, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  const steps = reference.slice(2).split('/');
  // biome-ignore lint/suspicious/noExplicitAny: any document
  return steps.reduce((at: any, step) => at?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

/**
 * What is wrong with a value, one line each. Stricter than JSON Schema: a member that the schema does not name is
 * wrong too, unless it allows any; and formats are checked.
 */
export function problems(document: unknown, schema: Schema, value: unknown, at = 'body'): string[] {
  const parts = flatten(document, schema);
  const found = parts.flatMap((part) => problemsOfPart(document, part, value, at));
  if (isObject(value) && parts.some(({ properties }) => properties !== undefined)) {
    const isOpen = parts.some(({ additionalProperties }) => additionalProperties !== undefined);
    const known = new Set(parts.flatMap(({ properties }) => Object.keys(properties ?? {})));
    for (const name of Object.keys(value))
      if (!isOpen && !known.has(name)) found.push(`${at}.${name} is not described`);
  }
  return found;
}

/** The schema itself and all that it refers to or is made of. */
function flatten(document: unknown, schema: Schema): Schema[] {
  for (const keyword of Object.keys(schema))
    if (!CHECKED.has(keyword)) throw new Error(`the check does not know ${keyword}`);
  const others = [...(schema.allOf ?? [])];
  if (schema.$ref !== undefined) others.push(resolve(document, schema.$ref) as Schema);
  return [schema, ...others.flatMap((other) => flatten(document, other))];
}

function problemsOfPart(document: unknown, schema: Schema, value: unknown, at: string): string[] {
  const found: string[] = [];
  const expect = (isRight: boolean, what: string) => {
    if (!isRight) found.push(`${at} ${what}: ${JSON.stringify(value)?.slice(0, 100)}`);
  };
  if (schema.type !== undefined)
    expect([schema.type].flat().includes(typeOf(value, schema)), `is not of type ${schema.type}`);
  if (schema.enum !== undefined) expect(schema.enum.includes(value), 'is none of the enum');
  if (schema.anyOf !== undefined)
    expect(
      schema.anyOf.some((other) => problems(document, other, value).length === 0),
      'is none of what it may be',
    );
  if (schema.const !== undefined) expect(schema.const === value, 'is not the constant');
  if (typeof value === 'number' && schema.minimum !== undefined)
    expect(value >= schema.minimum, 'is too small');
  if (typeof value === 'string') {
    if (schema.pattern !== undefined)
      expect(new RegExp(schema.pattern, 'u').test(value), 'is not of the pattern');
    if (schema.format === 'uri') expect(URL.canParse(value), 'is no URI');
    if (schema.format === 'date-time') expect(new Date(value).toISOString?.() === value, 'is no time in UTC');
  }
  if (Array.isArray(value) && schema.items !== undefined)
    for (const [index, item] of value.entries())
      found.push(...problems(document, schema.items, item, `${at}[${index}]`));
  if (isObject(value)) {
    for (const name of schema.required ?? []) expect(name in value, `lacks ${name}`);
    for (const [name, member] of Object.entries(schema.properties ?? {}))
      if (name in value) found.push(...problems(document, member, value[name], `${at}.${name}`));
  }
  return found;
}

function typeOf(value: unknown, { type }: Schema): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value) && [type].flat().includes('integer')) return 'integer';
  return typeof value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
