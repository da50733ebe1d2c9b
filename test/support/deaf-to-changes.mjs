/** To be imported by a service: it takes no notice of what other processes change, and finds nothing when it asks for that. */
import pg from 'pg';

const { query, emit } = pg.Client.prototype;

pg.Client.prototype.query = function (asked, ...others) {
  const result = query.call(this, asked, ...others);
  if (asked?.name !== 'changes_since') return result;
  return result.then((found) => {
    for (const row of found.rows) row.changes = [];
    return found;
  });
};

pg.Client.prototype.emit = function (event, ...told) {
  return event === 'notification' ? false : emit.call(this, event, ...told);
};
