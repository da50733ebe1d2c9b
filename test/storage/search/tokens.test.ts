import t from 'tap';
import { parseQuery } from '../../../src/search/query.ts';
import { matchExpression } from '../../../src/storage/search/tokens.ts';

const asked = (query: string) => matchExpression(1, parseQuery(query), undefined);

t.test('the engine is asked for at most two beginnings of a word', async (t) => {
  t.equal(asked('a* ab* abc*'), '("1:a" * AND "1:ab" *)');
  t.equal(asked('"x abc*" ab* a* ac* b*'), '("1:x 1:abc" * AND "1:ab" * AND "1:ac" * AND "1:b" *)');
  t.equal(asked('ab* -abc* -abcd* -a -b*'), '("1:ab" *) NOT ("1:abc" * OR "1:a" OR "1:b" *)');
});
