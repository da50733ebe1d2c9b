import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Programs, and libraries for Python, that tests use where they are installed: their file, and Debian's packages of it. */
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
  haproxy: { file: '/usr/sbin/haproxy', packages: 'haproxy' },
  varnishd: { file: '/usr/sbin/varnishd', packages: 'varnish varnish-modules' },
  openssl: { file: '/usr/bin/openssl', packages: 'openssl' },
  swift: {
    file: '/usr/lib/python3/dist-packages/swift/__init__.py',
    packages: 'swift-proxy swift-account swift-container swift-object',
  },
  chromium: { file: '/usr/bin/chromium-headless-shell', packages: 'chromium-headless-shell' },
  initdb: { file: '/usr/lib/postgresql/15/bin/initdb', packages: 'postgresql-15' },
  postgres: { file: '/usr/lib/postgresql/15/bin/postgres', packages: 'postgresql-15' },
  pg_dump: { file: '/usr/lib/postgresql/15/bin/pg_dump', packages: 'postgresql-15' },
  pg_restore: { file: '/usr/lib/postgresql/15/bin/pg_restore', packages: 'postgresql-15' },
  pgbouncer: { file: '/usr/sbin/pgbouncer', packages: 'pgbouncer' },
  rsync: { file: '/usr/bin/rsync', packages: 'rsync' },
  rclone: { file: '/usr/bin/rclone', packages: 'rclone' },
  restic: { file: '/usr/bin/restic', packages: 'restic' },
  pgbackrest: { file: '/usr/bin/pgbackrest', packages: 'pgbackrest' },
  'systemd-analyze': { file: '/usr/bin/systemd-analyze', packages: 'systemd' },
  shellcheck: { file: '/usr/bin/shellcheck', packages: 'shellcheck' },
  dash: { file: '/usr/bin/dash', packages: 'dash' },
  busybox: { file: '/usr/bin/busybox', packages: 'busybox' },
  mksh: { file: '/usr/bin/mksh', packages: 'mksh' },
  bash: { file: '/usr/bin/bash', packages: 'bash' },
  script: { file: '/usr/bin/script', packages: 'bsdutils' },
  ip: { file: '/usr/sbin/ip', packages: 'iproute2' },
  prlimit: { file: '/usr/bin/prlimit', packages: 'util-linux' },
  prometheus: { file: '/usr/bin/prometheus', packages: 'prometheus' },
  promtool: { file: '/usr/bin/promtool', packages: 'prometheus' },
  alertmanager: { file: '/usr/bin/prometheus-alertmanager', packages: 'prometheus-alertmanager' },
  python3: { file: '/usr/bin/python3', packages: 'python3' },
  'mkfs.ext4': { file: '/usr/sbin/mkfs.ext4', packages: 'e2fsprogs' },
  cc: { file: '/usr/bin/cc', packages: 'gcc libc6-dev' },
} as const;

type Program = keyof typeof PROGRAMS;

/** As on a machine that has none of these programs. */
const isHidden = process.env.WITHOUT_PROGRAMS === '1';

/** The file of a program, to be run only where it is not `missing`. */
export function program(name: Program): string {
  return join(isHidden ? '/nonexistent' : '/', PROGRAMS[name].file);
}

/** For tap's `skip`: why a test cannot run, or false. Where CI=true, a missing program is an error. */
export function missing(name: Program): string | false {
  if (existsSync(program(name))) return false;
  const reason = `${name} is not installed (Debian: ${PROGRAMS[name].packages})`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}
