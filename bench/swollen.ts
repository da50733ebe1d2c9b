/** Requests in which one value is as large as its place lets it be, and made of what costs most to read: the same piece again and again. */

import type { FuzzRequest } from '../test/support/fuzz/requests.ts';
import type { Random } from '../test/support/random.ts';

/** A request, and what is large in it. */
export interface Swollen {
  readonly request: FuzzRequest;
  /** Such as `header X-Note-Tags: 12000 × " ,"`. */
  readonly what: string;
}

/** Pieces that parsers look ahead, look back, fold, escape or count for. */
const PIECES = [
  ...[' ', ' ', '\t', '\n', '\r\n', '\u00a0', '\u2028', '\ud800', '- ', ']: '],
  ...['\u0301', '\u0316', '\u200b', '\u200d', '\u202e', '\ufeff'],
  ...words('a a 1 é İ ﷺ 漢 😀 , ; : = & % %41 %ff + - _ . / \\ " \' ` * ** ~ | # > ( ) [ ] ![ ]( < <!--'),
  ...words('&amp; &#0; &lt { } @ http://a www. a@b.c .png .md \\u0301 =?UTF-8?Q? W/ q=0, bytes= 0-0,'),
  ...words('``` $ ^ [^ <a </ == T Z ::'),
];
const PAIRS = [
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
  ['"', '"'],
  ['*', '*'],
  ['> ', ''],
  ['![', '](a)'],
  ['<b>', '</b>'],
  ['- ', '\n'],
] as const;

/** The largest value that each part of a request may have, bytes. */
const LIMITS = { path: 7_000, query: 12_000, header: 14_000, text: 100 * 1024, body: 1024 * 1024 };

const QUERIES = [
  ...words('q tag before after from to limit key sort secret notes since saved target next v state code'),
  ...words('client_id redirect_uri scope error any'),
];
const HEADERS = [
  ...words('X-Note-Title X-Note-Title* X-Note-Tags X-Note-Tags* X-Note-Alt X-Note-Alt* X-Note-Name'),
  ...words('X-Note-Name* X-Note-Expires X-Note-Unlisted X-Read-Id X-Feed-Password Idempotency-Key'),
  ...words('If-Match If-None-Match If-Modified-Since If-Range Range Last-Event-ID Authorization Cookie'),
  ...words('Accept Accept-Encoding Accept-Language Content-Type Content-Encoding Host Origin Referer'),
  ...words('User-Agent Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto Expect X-Request-Id'),
  ...words('X-Hub-Signature-256 X-GitHub-Event Sec-Fetch-Site Mcp-Session-Id'),
];
const SCHEMES = ['', ...words('bearer bytes= W/" " text/html; session= UTF-8\'\''), 'Bearer ', 'Basic '];
const TYPES = [
  'text/markdown',
  'text/plain',
  'application/json',
  'application/x-www-form-urlencoded',
  'image/png',
];
const FORM = 'multipart/form-data; boundary=b';

/** Makes swollen requests from others, the same for a seed. */
export class Swelling {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  of(request: FuzzRequest): Swollen {
    const { below, oneOf } = this.#random;
    const whole: FuzzRequest = { ...request, framing: 'length' };
    switch (below(8)) {
      case 0:
        return this.#path(whole);
      case 1:
        return this.#query(whole);
      case 2:
      case 3:
        return this.#header(whole);
      case 4:
        return oneOf([this.#form, this.#multipart, this.#bytes]).call(this, whole);
      default:
        return whole.body.length > 0 ? this.#body(whole) : this.#header(whole);
    }
  }

  /** The same short text again and again, nested, or with a number each time. */
  #run(limit: number): { text: string; what: string } {
    const { below, oneOf, oneIn } = this.#random;
    const bytes = oneIn(4) ? Math.ceil(limit / (2 + below(20))) : limit;
    const [before, after] = [oneIn(2) ? '' : oneOf(PIECES), oneIn(2) ? '' : oneOf(PIECES)];
    if (oneIn(8)) {
      const [open, close] = oneOf(PAIRS);
      const times = Math.floor(bytes / Buffer.byteLength(open + close));
      const text = `${open.repeat(times)}a${close.repeat(times)}`;
      return { text, what: `${times} × ${JSON.stringify([open, close])}` };
    }
    const unit = Array.from({ length: 1 + below(3) }, () => oneOf(PIECES)).join('');
    const isCounted = oneIn(5);
    const times = Math.max(1, Math.floor(bytes / (Buffer.byteLength(unit) + (isCounted ? 5 : 0))));
    const middle = isCounted
      ? Array.from({ length: times }, (_, n) => `${unit}${n}`).join('')
      : unit.repeat(times);
    const what = `${JSON.stringify(before)} ${times} × ${JSON.stringify(unit)}${isCounted ? ' counted' : ''} ${JSON.stringify(after)}`;
    return { text: before + middle + after, what };
  }

  #path(request: FuzzRequest): Swollen {
    const segments = request.path.split('?')[0]!.split('/');
    const at = 1 + this.#random.below(segments.length - 1);
    const { text, what } = this.#run(LIMITS.path / 3);
    segments[at] = encoded(text);
    return { request: { ...request, path: segments.join('/') }, what: `path ${at}: ${what}` };
  }

  #query(request: FuzzRequest): Swollen {
    const { oneOf, oneIn } = this.#random;
    const [path, query] = request.path.split('?') as [string, string?];
    const name = oneOf(QUERIES);
    const { text, what } = this.#run(LIMITS.query / 3);
    // As it is, so that it can be many parameters, or encoded.
    const value = oneIn(3) ? text.replace(/[^!-~]/gu, '+') : encoded(text).slice(0, LIMITS.query);
    const before = query === undefined || oneIn(2) ? '' : `${query}&`;
    return {
      request: { ...request, path: `${path}?${before}${name}=${value}` },
      what: `query ${name}: ${what}`,
    };
  }

  #header(request: FuzzRequest): Swollen {
    const { oneOf, oneIn } = this.#random;
    const name = oneOf(HEADERS);
    const scheme = oneIn(2) ? '' : oneOf(SCHEMES);
    const { text, what } = this.#run(LIMITS.header);
    const value = `${scheme}${text.replace(/[\0-\x1f\x7f]/g, ' ')}`;
    const others = request.headers.filter(([other]) => other !== name);
    return {
      request: { ...request, headers: [...others, [name, value]] },
      what: `header ${name}: ${scheme} ${what}`,
    };
  }

  /** Whatever the body is, a part of it. */
  #body(request: FuzzRequest): Swollen {
    const type = typeOf(request);
    if (type.startsWith('application/json') && request.body.length < 64 * 1024) {
      const text = request.body.toString();
      try {
        return this.#json(request, JSON.parse(text));
      } catch {
        return this.#bytes(request);
      }
    }
    if (type.startsWith('application/x-www-form-urlencoded')) return this.#form(request);
    return type.startsWith('multipart/') ? this.#multipart(request) : this.#bytes(request);
  }

  /** One value of JSON: a text, a list or an object of many. */
  #json(request: FuzzRequest, value: unknown): Swollen {
    const { below, oneOf } = this.#random;
    const places: (readonly [owner: Record<string, unknown>, name: string])[] = [];
    const walk = (owner: Record<string, unknown>) => {
      for (const [name, member] of Object.entries(owner)) {
        places.push([owner, name]);
        if (typeof member === 'object' && member !== null) walk(member as Record<string, unknown>);
      }
    };
    const root: Record<string, unknown> = { root: value };
    walk(root);
    const [owner, name] = oneOf(places);
    const { text, what } = this.#run(oneOf([LIMITS.text, LIMITS.text, LIMITS.body]));
    const old = owner[name];
    let kind = 'text';
    switch (below(5)) {
      case 0:
        kind = 'list';
        owner[name] = Array.from({ length: oneOf([20, 2_000, 30_000]) }, () => old);
        break;
      case 1:
        kind = 'members';
        owner[name] = Object.fromEntries(
          Array.from({ length: oneOf([20, 2_000, 30_000]) }, (_, n) => [`${text.slice(0, 6)}${n}`, old]),
        );
        break;
      case 2:
        kind = 'list of texts';
        owner[name] = Array.from({ length: 2_000 }, (_, n) => `${text.slice(0, 20)}${n}`);
        break;
      case 3:
        kind = 'nested';
        for (let depth = 0; depth < 2_000; depth += 1) owner[name] = [owner[name]];
        break;
      default:
        owner[name] = text;
    }
    const body = Buffer.from(JSON.stringify(root.root) ?? 'null');
    return {
      request: { ...request, body: body.subarray(0, 4 * LIMITS.body) },
      what: `JSON ${name}, ${kind}: ${what}`,
    };
  }

  #form(request: FuzzRequest): Swollen {
    const { oneOf, oneIn } = this.#random;
    const form = new URLSearchParams(request.body.length < 10_000 ? request.body.toString('latin1') : '');
    const name = oneOf([...form.keys(), 'text', 'payload', 'any']);
    const { text, what } = this.#run(LIMITS.text);
    if (oneIn(4)) {
      const many = `${name}=a&`.repeat(20_000);
      return {
        request: typed(request, 'application/x-www-form-urlencoded', many),
        what: `form ${name}, 20000 times`,
      };
    }
    form.set(name, text);
    return {
      request: typed(
        request,
        'application/x-www-form-urlencoded',
        oneIn(3) ? `${name}=${text}` : form.toString(),
      ),
      what: `form ${name}: ${what}`,
    };
  }

  #multipart(request: FuzzRequest): Swollen {
    const { oneOf, below } = this.#random;
    const { text, what } = this.#run(oneOf([1_000, LIMITS.header, LIMITS.text]));
    const line = text.replace(/[\0-\x1f\x7f]/g, ' ');
    const part = (header: string, content: string) =>
      `--b\r\nContent-Disposition: form-data; ${header}\r\n\r\n${content}\r\n`;
    const parts = [
      () => part('name="text"', text),
      () => part(`name="${line}"`, 'a'),
      () => part(`name="file"; filename="${line}"\r\nContent-Type: image/png`, 'a'),
      () => part(`name="file"; filename*=UTF-8''${line}\r\nContent-Type: image/png`, 'a'),
      () => part(`name="file"; filename="a.png"\r\nContent-Type: image/png; ${line}`, 'a'),
      () => part(`name="alt.a.png"`, text),
      () => part(line, 'a'),
      () => part(`name="text"\r\n${line}: a`, text),
      () => part(`name="a${below(9)}"`, 'a').repeat(10_000),
      () => part('name="text"', '![a](a.png)'.repeat(9_000)) + part('name="file"; filename="a.png"', 'a'),
      () => `${part('name="text"', text)}\r\n--${text}`,
    ];
    const at = below(parts.length);
    return { request: typed(request, FORM, `${parts[at]!()}--b--\r\n`), what: `part ${at}: ${what}` };
  }

  #bytes(request: FuzzRequest): Swollen {
    const { oneOf, oneIn, bytes, below } = this.#random;
    if (oneIn(3)) return this.#picture(request);
    const type = oneIn(2) ? typeOf(request) || 'text/markdown' : oneOf(TYPES);
    if (oneIn(8)) {
      const unit = bytes(1 + below(4));
      const body = Buffer.alloc(oneOf([LIMITS.text, LIMITS.body]), unit);
      return { request: typed(request, type, body), what: `body ${type}: ${unit.toString('hex')}` };
    }
    const { text, what } = this.#run(type.startsWith('text/') ? LIMITS.text - 20 : LIMITS.body);
    return { request: typed(request, type, text), what: `body ${type}: ${what}` };
  }

  /** A picture whose parts are many and small. */
  #picture(request: FuzzRequest): Swollen {
    const { below, oneOf, bytes } = this.#random;
    const [type, head] = oneOf<readonly [string, number[]]>([
      ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
      ['image/jpeg', [0xff, 0xd8]],
      ['image/jpeg', [0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff, ...Buffer.from('Exif\0\0II*\0\x08\0\0\0')]],
      ['image/gif', [...Buffer.from('GIF89a'), 1, 0, 1, 0, 0, 0, 0]],
      ['image/webp', [...Buffer.from('RIFF'), 255, 255, 255, 0, ...Buffer.from('WEBP')]],
    ]);
    const unit = oneOf<Buffer>([
      ...[
        Buffer.from([0xff]),
        Buffer.from([0]),
        Buffer.from([0xff, 0xe1, 0, 2]),
        Buffer.from([0xff, 0xfe, 0, 2]),
      ],
      ...[
        Buffer.from('\0\0\0\0tEXt\0\0\0\0'),
        Buffer.from('\0\0\0\0eXIf\0\0\0\0'),
        Buffer.from('VP8X\0\0\0\0'),
      ],
      ...[
        Buffer.from('EXIF\0\0\0\0'),
        Buffer.from([0x21, 0xfe, 1, 0, 0]),
        Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 0]),
      ],
      bytes(1 + below(6)),
    ]);
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(oneOf([LIMITS.text, LIMITS.body]), unit)]);
    return { request: typed(request, type, body), what: `${type}: ${unit.toString('hex')}` };
  }
}

function typeOf({ headers }: FuzzRequest): string {
  return headers.find(([name]) => name === 'Content-Type')?.[1] ?? '';
}

function typed(request: FuzzRequest, type: string, body: string | Buffer): FuzzRequest {
  const others = request.headers.filter(([name]) => name !== 'Content-Type');
  return { ...request, headers: [...others, ['Content-Type', type]], body: Buffer.from(body) };
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function words(text: string): string[] {
  return text.split(' ');
}
