declare module 'autocannon' {
  interface Options {
    url: string;
    connections: number;
    /** Seconds; ignored with `amount`. */
    duration?: number | undefined;
    /** Requests in all. */
    amount?: number | undefined;
    method?: 'GET' | 'POST' | undefined;
    headers?: Record<string, string> | undefined;
    body?: Buffer | undefined;
  }
  interface Result {
    /** Seconds. */
    duration: number;
    requests: { total: number };
    /** Milliseconds. */
    latency: { p50: number; p99: number };
    errors: number;
    '2xx': number;
    '3xx': number;
    '4xx': number;
    '5xx': number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
