import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

/** An answer as it came over the wire: nothing decoded, nothing followed. */
export interface ExactReply {
  status: number;
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
}

export interface ExactOptions {
  method?: string;
  /** Sent as they are, `Host` included; nothing is added to them but `Connection`. */
  headers?: Record<string, string>;
}

/** One request over a connection of its own. `fetch` would add `Accept-Encoding`, decode bodies and hide `Host`. */
export function exactly(
  url: string,
  { method = 'GET', headers = {} }: ExactOptions = {},
): Promise<ExactReply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          text: bytes.toString(),
        });
      });
    });
    request.on('error', reject);
    request.end();
  });
}
