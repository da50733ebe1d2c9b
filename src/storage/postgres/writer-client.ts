import { Client, type ClientConfig } from 'pg';
import { hostUrls } from '../../database-hosts.ts';
import { hostsOf } from './hosts.ts';

type OnConnect = (error: Error | undefined, client?: Client) => void;

/** A connection to the host that takes writes, of those that its URL names. */
export class WriterClient extends Client {
  readonly #hosts;

  constructor({ connectionString = '', ...others }: ClientConfig = {}) {
    const [first = connectionString] = hostUrls(connectionString) ?? [];
    super({ ...others, connectionString: first });
    // Without a listener the process ends, and a pool listens only once it is told that the client is connected. What the
    // client is asked afterwards fails.
    this.on('error', () => {});
    this.#hosts = hostsOf(connectionString);
  }

  override connect(): Promise<Client>;
  override connect(callback: OnConnect): void;
  override connect(callback?: OnConnect): Promise<Client> | undefined {
    const connected = this.#connect();
    if (!callback) return connected;
    connected.then((client) => callback(undefined, client), callback);
    return undefined;
  }

  async #connect(): Promise<Client> {
    if (!this.#hosts) return super.connect();
    const { host, port, timeline } = await this.#hosts.writer();
    this.host = host;
    this.port = port;
    await super.connect();
    try {
      this.#hosts.add(this, timeline);
    } catch (error) {
      // A pool does not end what it could not connect.
      this.end().catch(() => {});
      throw error;
    }
    return this;
  }
}
