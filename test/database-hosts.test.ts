import t from 'tap';
import { hostUrls } from '../src/database-hosts.ts';

t.test('a URL names one host or several', async (t) => {
  const cases: Record<string, string[]> = {
    'postgres://db/notes': ['postgres://db/notes'],
    'postgresql://u:p@a:5433,b:5434/notes': [
      'postgresql://u:p@a:5433/notes',
      'postgresql://u:p@b:5434/notes',
    ],
    'postgres://a,b:5433,c/notes': ['postgres://a/notes', 'postgres://b:5433/notes', 'postgres://c/notes'],
    'postgres://u@[::1]:5433,[fe80::2],127.0.0.1/notes': [
      'postgres://u@[::1]:5433/notes',
      'postgres://u@[fe80::2]/notes',
      'postgres://u@127.0.0.1/notes',
    ],
    'postgres://u:a,b%2Fc@a,b/notes': ['postgres://u:a,b%2Fc@a/notes', 'postgres://u:a,b%2Fc@b/notes'],
    'postgres://u:p@x@a,b/notes': ['postgres://u:p@x@a/notes', 'postgres://u:p@x@b/notes'],
    'postgres://a,b/notes?port=5433&sslmode=disable': [
      'postgres://a/notes?port=5433&sslmode=disable',
      'postgres://b/notes?port=5433&sslmode=disable',
    ],
    'postgres://a,b': ['postgres://a', 'postgres://b'],
    'postgres://a,b?options=-c%20x%3D1,2': [
      'postgres://a?options=-c%20x%3D1,2',
      'postgres://b?options=-c%20x%3D1,2',
    ],
    'postgres:///notes?host=/run/postgresql': ['postgres:///notes?host=/run/postgresql'],
    'postgres://%2Frun%2Fa,%2Frun%2Fb/notes': ['postgres://%2Frun%2Fa/notes', 'postgres://%2Frun%2Fb/notes'],
  };
  for (const [url, urls] of Object.entries(cases)) t.same(hostUrls(url), urls, url);
});

t.test('a URL whose hosts cannot be read', async (t) => {
  const urls = [
    '',
    'file:/srv/notes.db',
    'http://a,b/notes',
    'postgres:a,b',
    'postgres://a,/notes',
    'postgres://,b/notes',
    'postgres://u@a,:5433/notes',
    'postgres://a:5432,b:x/notes',
    'postgres://a:5432:5433,b/notes',
    'postgres://a,b:70000/notes',
    'postgres://::1,::2/notes',
    'postgres://[::1,b/notes',
    'postgres://a b,c/notes',
    'postgres://a,b/notes?host=/run/postgresql',
    'postgres:///notes?host=a,b',
    'postgres://a,b/notes?port=1,2',
  ];
  for (const url of urls) t.equal(hostUrls(url), undefined, url);
});
