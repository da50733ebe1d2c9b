import type { Page } from 'playwright-core';
import type { Allowed } from './strict-html.ts';

/** HTML of a note, and what it may hold. */
export interface AskedHtml {
  readonly html: string;
  readonly allowed: Allowed;
}

/**
 * What Chromium's own parser finds in HTML that notes must not hold, for each that has any: elements, attributes and values
 * that are not allowed, addresses of other schemes as the browser resolves them, nodes that are neither element nor text,
 * and HTML that ends the element around it.
 */
export async function browserViolations(
  page: Page,
  asked: readonly AskedHtml[],
): Promise<{ html: string; found: string[] }[]> {
  const kinds = [...new Set(asked.map(({ allowed }) => allowed))];
  const argument = {
    htmls: asked.map(({ html, allowed }) => [html, kinds.indexOf(allowed)]),
    kinds: kinds.map(({ attributes, values, tags }) => ({
      attributes,
      tags: [...tags],
      values: Object.entries(values).map(([name, { source, flags }]) => [name, source, flags]),
    })),
  };
  const found = await page.evaluate<string[][]>(`(${FIND})(${JSON.stringify(argument)})`);
  return asked.map(({ html }, at) => ({ html, found: found[at]! })).filter((one) => one.found.length > 0);
}

// What runs in a page is written as text: tests are checked without the types of browsers.
const FIND = `({htmls, kinds}) => {
  const HTML = 'http://www.w3.org/1999/xhtml';
  const URLS = {href: ['http:', 'https:', 'mailto:'], src: ['http:', 'https:']};
  const allowed = kinds.map(({attributes, tags, values}) => ({
    attributes,
    tags: new Set(tags),
    values: new Map(values.map(([name, source, flags]) => [name, new RegExp(source, flags)])),
  }));
  const parser = new DOMParser();
  return htmls.map(([html, kind]) => {
    const {attributes, tags, values} = allowed[kind];
    const found = [];
    const doc = parser.parseFromString('<!DOCTYPE html><body><main>' + html + '</main><footer></footer>', 'text/html');
    const {body, head} = doc;
    if (head.childNodes.length > 0 || doc.documentElement.attributes.length + body.attributes.length > 0)
      found.push('something is outside of the body');
    if (body.childNodes.length !== 2 || body.lastChild.localName !== 'footer' || body.lastChild.childNodes.length > 0)
      found.push('it ends the element around it');
    const nodes = doc.createTreeWalker(body);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
      if (node.nodeType === 3 || node.parentNode === body) continue;
      if (node.nodeType !== 1) {
        found.push('node of type ' + node.nodeType);
        continue;
      }
      const tag = node.localName;
      if (node.namespaceURI !== HTML || !tags.has(tag)) found.push('element ' + tag);
      for (const {name, value} of node.attributes) {
        if (!attributes[tag]?.includes(name)) found.push('attribute ' + name + ' of ' + tag);
        if (values.has(name) && !values.get(name).test(value)) found.push(name + ' ' + value);
        const schemes = URLS[name];
        if (schemes === undefined || value.startsWith('#')) continue;
        const protocol = URL.parse(value, 'https://page.example/')?.protocol;
        if (protocol !== undefined && !schemes.includes(protocol)) found.push('address ' + value);
      }
    }
    return found;
  });
}`;
