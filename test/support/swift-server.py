"""OpenStack Swift with its S3 API, all of its servers in this one process, for tests.

swift-server.py <account>:<user> <secret> <folder> [<port>] prints "READY <port>", and ends when its standard input does. What
it stores is in the folder, which may be of a server before it.
"""
import logging
import os
import signal
import sys

import eventlet

eventlet.monkey_patch()

from eventlet import tpool, wsgi
from swift.common import storage_policy, utils
from swift.common.ring import RingBuilder
from swift.common.wsgi import SwiftHttpProtocol, loadapp

user, secret, home = sys.argv[1:4]
port_of_proxy = int(sys.argv[4]) if len(sys.argv) > 4 else 0
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

STORES = ('account', 'container', 'object')
MIDDLEWARE = {
    'catch_errors': '',
    'gatekeeper': '',
    'listing_formats': '',
    'bulk': '',
    's3api': 'location = us-east-1',
    'tempauth': 'user_%s = %s .admin' % (user.replace(':', '_'), secret),
    'copy': '',
    'slo': '',
    'dlo': '',
    'symlink': '',
    'versioned_writes': 'allow_object_versioning = true',
}


def write(name, *lines):
    path = os.path.join(home, name)
    with open(path, 'w') as file:
        file.write('\n'.join(lines) + '\n')
    return path


class Memory:
    """What memcached would keep: tempauth cannot do without."""

    def __init__(self):
        self.kept = {}

    def get(self, key, *_, **__):
        return self.kept.get(key)

    def set(self, key, value, *_, **__):
        self.kept[key] = value

    def delete(self, key, *_, **__):
        self.kept.pop(key, None)

    def incr(self, key, delta=1, *_, **__):
        self.kept[key] = self.kept.get(key, 0) + delta
        return self.kept[key]


def remembering(app, memory=Memory()):
    def handle(environ, start_response):
        environ['swift.cache'] = memory
        return app(environ, start_response)
    return handle


os.makedirs(os.path.join(home, 'devices', 'disk'), exist_ok=True)
write('swift.conf', '[swift-hash]', 'swift_hash_path_suffix = test', '[storage-policy:0]', 'name = only', 'default = yes')
utils.SWIFT_CONF_FILE = os.path.join(home, 'swift.conf')
utils.HASH_PATH_PREFIX, utils.HASH_PATH_SUFFIX = b'', b'test'
utils.set_swift_dir(home)
storage_policy.reload_storage_policies()

sockets = {
    name: eventlet.listen(('127.0.0.1', port_of_proxy if name == 'proxy' else 0), backlog=1024) for name in STORES + ('proxy',)
}
COMMON = (
    '[DEFAULT]', 'swift_dir = ' + home, 'devices = ' + os.path.join(home, 'devices'), 'mount_check = false',
    'disable_fallocate = true', 'fallocate_reserve = 0', 'log_level = CRITICAL',
)
configs = {}
for name in STORES:
    port = sockets[name].getsockname()[1]
    ring = RingBuilder(2, 1, 0)
    ring.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': port, 'device': 'disk', 'weight': 1,
                  'replication_ip': '127.0.0.1', 'replication_port': port})
    ring.rebalance()
    ring.get_ring().save(os.path.join(home, name + '.ring.gz'))
    configs[name] = write(name + '.conf', *COMMON, '[pipeline:main]', 'pipeline = server', '[app:server]', 'use = egg:swift#' + name)
filters = [line for name, option in MIDDLEWARE.items() for line in ('[filter:%s]' % name, 'use = egg:swift#' + name, option)]
configs['proxy'] = write('proxy.conf', *COMMON, '[pipeline:main]', 'pipeline = %s proxy-server' % ' '.join(MIDDLEWARE), *filters,
                         '[app:proxy-server]', 'use = egg:swift#proxy', 'account_autocreate = true')


class Silent:
    def write(self, *_):
        pass


for name, config in configs.items():
    app = loadapp(config, global_conf={'log_name': name})
    eventlet.spawn(wsgi.server, sockets[name], remembering(app) if name == 'proxy' else app, Silent(),
                   protocol=SwiftHttpProtocol, log_output=False, debug=False)
logging.disable(logging.CRITICAL)
eventlet.sleep(0)
print('READY', sockets['proxy'].getsockname()[1], flush=True)
tpool.execute(sys.__stdin__.buffer.raw.read)
