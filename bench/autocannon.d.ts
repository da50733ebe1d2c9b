declare module 'autocannon' {
  namespace autocannon {
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
      /** Called for each request before it is sent. */
      requests?: { setupRequest(request: { path: string }): { path: string } }[] | undefined;
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
  }
  function autocannon(options: autocannon.Options): Promise<autocannon.Result>;
  export default autocannon;
}
