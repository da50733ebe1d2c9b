/** What the compose files say of containers; test/deploy/proxy.soak.ts starts what they describe. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readConfig } from '../../src/config.ts';
import { type ComposeService, composeServices, environmentOf } from '../support/compose.ts';

const PUBLIC_URL = 'https://notes.example';
const { notes } = composeServices('compose.yaml');
const { notes1, notes2, notes3, proxy } = composeServices('compose.postgres.yaml', { PUBLIC_URL });
const { notes: withStore } = composeServices('compose.s3.yaml');
const services = [notes, notes1, notes2, notes3] as ComposeService[];

t.test('containers of the service may do nothing that it needs not', async (t) => {
  for (const service of [...services, withStore, proxy])
    t.match(service, {
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      restart: 'unless-stopped',
    });
});

t.test('the service reads all that a connection has in one piece', async (t) => {
  for (const { sysctls } of services) {
    const [, , most] = sysctls?.['net.ipv4.tcp_rmem']?.split(' ') ?? [];
    t.equal(Number(most), 512 * 1024);
  }
});

t.test('they get longer to stop than running requests have to finish', async (t) => {
  for (const service of [...services, proxy])
    t.ok(Number(/^(\d+)s$/.exec(service?.stop_grace_period ?? '')?.[1]) > 30);
});

t.test('the proxy knows the addresses of all of them', async (t) => {
  const config = readFileSync(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8');
  const known = [...config.matchAll(/^\s*server ([\d.]+):3000 /gm)].map(([, address]) => address);
  const given = services.slice(1).map((service) => service.networks?.inside?.ipv4_address);
  t.strictSame(known, given);
});

t.test('one container needs no settings, and takes those of whoever starts it', async (t) => {
  t.match(readConfig(environmentOf(notes!)), { publicUrl: undefined, trustProxy: false });
  const behindProxy = composeServices('compose.yaml', { PUBLIC_URL, SERVICE_TRUST_PROXY: '1' });
  t.match(readConfig(environmentOf(behindProxy.notes!)), { publicUrl: PUBLIC_URL, trustProxy: true });
});

t.test('several need the address that people use', async (t) => {
  t.throws(
    () => composeServices('compose.postgres.yaml'),
    /^PUBLIC_URL is not set: the address that people use/,
  );
});

t.test('the one with an image store has all settings that it needs', async (t) => {
  const file = join(
    t.testdir({ secret: 'x'.repeat(40), other: 'y'.repeat(40), url: 'postgres://a@b/c' }),
    'secret',
  );
  const env = environmentOf(withStore!);
  const secrets = { SERVICE_DATABASE_URL_FILE: 'url', SERVICE_OPERATOR_TOKEN_FILE: 'other' };
  for (const name of Object.keys(env).filter((name) => name.endsWith('_FILE')))
    env[name] = file.replace(/secret$/, (secrets as Record<string, string>)[name] ?? 'secret');
  t.match(readConfig(env), { storage: 'postgres', images: 's3', s3Bucket: 'notes', s3Region: 'us-east-1' });
});
