import { existsSync } from 'node:fs';

/** Programs that tests use where they are installed: a file that shows that they are, and Debian's packages of it. */
const PROGRAMS = {
  newsboat: { file: '/usr/bin/newsboat', packages: 'newsboat' },
  feedparser: {
    file: '/usr/lib/python3/dist-packages/feedparser/__init__.py',
    packages: 'python3-feedparser python3-sgmllib3k',
  },
  sfeed: { file: '/usr/bin/sfeed_update', packages: 'sfeed curl' },
  xmllint: { file: '/usr/bin/xmllint', packages: 'libxml2-utils' },
  curl: { file: '/usr/bin/curl', packages: 'curl' },
  requests: {
    file: '/usr/lib/python3/dist-packages/requests/__init__.py',
    packages: 'python3-requests',
  },
  nginx: { file: '/usr/sbin/nginx', packages: 'nginx-light' },
  caddy: { file: '/usr/bin/caddy', packages: 'caddy' },
  openssl: { file: '/usr/bin/openssl', packages: 'openssl' },
  swift: {
    file: '/usr/lib/python3/dist-packages/swift/__init__.py',
    packages: 'swift-proxy swift-account swift-container swift-object',
  },
  chromium: { file: '/usr/bin/chromium', packages: 'chromium' },
} as const;

/** For tap's `skip`: why a test cannot run, or false. Where CI=true, a missing program is an error. */
export function missing(program: keyof typeof PROGRAMS): string | false {
  const { file, packages } = PROGRAMS[program];
  if (existsSync(file)) return false;
  const reason = `${program} is not installed (Debian: ${packages})`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}
