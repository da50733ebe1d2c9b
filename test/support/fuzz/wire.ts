import type { FuzzRequest } from './requests.ts';

const HOST = 'Host: fuzz.example';

/** Whether the service must answer the request itself: it is whole, and nothing about its head is odd. */
export function isWhole({ framing }: FuzzRequest): boolean {
  return framing === 'length' || framing === 'chunked' || framing === 'fetch';
}

/** The bytes of a request as its framing has them. */
export function wireBytes(request: FuzzRequest): Buffer {
  const { body, framing, at } = request;
  switch (framing) {
    case 'length':
    case 'fetch':
    case 'odd head':
      return whole(request, hasBody(request) ? `Content-Length: ${body.length}` : undefined, body);
    case 'chunked':
      return whole(request, 'Transfer-Encoding: chunked', chunks(body, at));
    case 'hung up':
      return cut(whole(request, `Content-Length: ${body.length}`, body), at);
    case 'too short':
      return whole(request, `Content-Length: ${Math.floor(body.length * at)}`, body);
    case 'too long':
      return whole(request, `Content-Length: ${body.length + 1 + Math.floor(at * 1e9)}`, body);
    case 'two lengths':
      return whole(
        request,
        `Content-Length: ${body.length}\r\nContent-Length: ${Math.floor(body.length * at)}`,
        body,
      );
    case 'bad chunks':
      return spoiled(whole(request, 'Transfer-Encoding: chunked', chunks(body, at)), 1 - (1 - at) / 4);
    case 'odd bytes':
      return spoiled(whole(request, `Content-Length: ${body.length}`, body), at);
  }
}

function hasBody({ method, body }: FuzzRequest): boolean {
  return body.length > 0 || ['POST', 'PUT', 'PATCH'].includes(method);
}

function whole({ method, path, headers }: FuzzRequest, framing: string | undefined, body: Buffer): Buffer {
  const fields = headers.map(([name, value]) => `${name}: ${value}`);
  const lines = [`${method} ${path} HTTP/1.1`, HOST, ...fields, ...(framing === undefined ? [] : [framing])];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]);
}

/** The body in up to three chunks. */
function chunks(body: Buffer, at: number): Buffer {
  const middle = Math.floor(body.length * at);
  const parts = [body.subarray(0, middle), body.subarray(middle, middle + 1), body.subarray(middle + 1)];
  const framed = parts
    .filter(({ length }) => length > 0)
    .flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
  return Buffer.concat([...framed, Buffer.from('0\r\n\r\n')]);
}

function cut(bytes: Buffer, at: number): Buffer {
  return bytes.subarray(0, Math.floor((bytes.length - 1) * at));
}

/** A few bytes at one place are others. */
function spoiled(bytes: Buffer, at: number): Buffer {
  const start = Math.floor((bytes.length - 1) * at);
  const copy = Buffer.from(bytes);
  for (let n = start; n < Math.min(start + 3, copy.length); n++) copy[n] = (copy[n]! * 7 + n) & 0xff;
  return copy;
}
