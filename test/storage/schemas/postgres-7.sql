CREATE TABLE feeds (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" UNIQUE,
  read_id text COLLATE "C" NOT NULL UNIQUE,
  password_hash text,
  title text NOT NULL DEFAULT '',
  description text NOT NULL DEFAULT '',
  show_sender boolean NOT NULL DEFAULT true,
  image text,
  note_count integer NOT NULL DEFAULT 0,
  image_count integer NOT NULL DEFAULT 0,
  changed_at bigint NOT NULL,
  to_clear boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX feeds_to_clear ON feeds (id) WHERE to_clear;

CREATE TABLE feed_count (feeds bigint NOT NULL);
INSERT INTO feed_count VALUES (0);

CREATE TABLE notes (
  feed bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  type smallint NOT NULL,
  created_at bigint NOT NULL,
  modified_at bigint NOT NULL,
  metadata text,
  sha256 text,
  size integer NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (feed, id, type)
);
ALTER TABLE notes ALTER content SET STORAGE EXTERNAL;
CREATE INDEX notes_in_order ON notes (feed, created_at, id, type);

CREATE TABLE tags (
  feed bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  type smallint NOT NULL,
  PRIMARY KEY (feed, tag, created_at, id, type)
);

CREATE UNLOGGED TABLE client_counts (
  client text COLLATE "C" PRIMARY KEY,
  times bigint[] NOT NULL,
  counts integer[] NOT NULL,
  granted integer NOT NULL
) WITH (fillfactor = 50);

ALTER TABLE notes ADD image_key text COLLATE "C";
CREATE UNIQUE INDEX notes_by_key ON notes (image_key) WHERE image_key IS NOT NULL;
CREATE INDEX pictures_in_order ON notes (created_at, feed, id, type) WHERE type > 0;

CREATE TABLE freed_keys (
  key text COLLATE "C" PRIMARY KEY,
  due_at bigint,
  attempts integer NOT NULL DEFAULT 0
);
CREATE INDEX freed_keys_due ON freed_keys (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX freed_keys_elsewhere ON freed_keys (key) WHERE due_at IS NULL;
INSERT INTO freed_keys (key, due_at, attempts) VALUES ('00112233445566778899aabbccddeeff', NULL, 1);

CREATE TABLE sweeper (holder text NOT NULL, until bigint NOT NULL);
INSERT INTO sweeper VALUES ('', 0);

INSERT INTO feeds (id, name, read_id, password_hash, title, description, show_sender, image, note_count, image_count, changed_at, to_clear)
OVERRIDING SYSTEM VALUE VALUES
  (1, NULL, 'once-taken', NULL, '', '', true, NULL, 1, 0, 1795278830127, true),
  (2, 'diary', 'my-diary', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g', 'Diary', 'It''s mine', false, '20261102T080000Z-019a4382-0000-7000-8000-000000000002.png', 2, 1, 1795278830174, false),
  (3, 'empty', 'still-empty', NULL, '', '', true, NULL, 0, 0, 1795278830175, false);
SELECT setval('feeds_id_seq', 3);
UPDATE feed_count SET feeds = 2;

INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, content) VALUES
  (2, '20261102T080000Z-019a4382-0000-7000-8000-000000000002', 1, 1793606400000, 1795278830169, '{"alt":"A cat","name":"my cat.png","tags":["cat"]}', 'Yt5MN0c0tZ0Z2dSAkUJ0oXCPY8nYvNlW8nCwFvYqk9s', 10, '\x89504e470d0a1a0a00ff'),
  (2, '20261103T080000Z-019a48a8-0000-7000-8000-000000000003', 0, 1793692800000, 1795278830171, '{"title":"Größe","sender":"Ann","tags":["a","cat"]}', NULL, 19, '\xefbbbf23204772c3bcc39f650d0a0020656e64');

INSERT INTO notes (feed, id, type, created_at, modified_at, metadata, sha256, size, content, image_key) VALUES
  (1, '20261101T080000Z-019a3e5c-0000-7000-8000-000000000001', 1, 1793520000000, 1795278830081, '{"tags":["old"]}', NULL, 4, '', 'ffeeddccbbaa99887766554433221100');

INSERT INTO tags (feed, tag, created_at, id, type) VALUES
  (2, 'a', 1793692800000, '20261103T080000Z-019a48a8-0000-7000-8000-000000000003', 0),
  (2, 'cat', 1793606400000, '20261102T080000Z-019a4382-0000-7000-8000-000000000002', 1),
  (2, 'cat', 1793692800000, '20261103T080000Z-019a48a8-0000-7000-8000-000000000003', 0);

CREATE TABLE token_series (
     id text COLLATE "C" PRIMARY KEY,
     turn integer NOT NULL,
     until bigint NOT NULL
   );
CREATE INDEX token_series_to_forget ON token_series (until);

ALTER TABLE feeds ADD license text, ADD license_id text COLLATE "C";
CREATE INDEX feeds_by_license ON feeds (license_id) WHERE license_id IS NOT NULL;
UPDATE feeds SET license = 'nf1.x.y', license_id = 'kept-license' WHERE name = 'diary';

ALTER TABLE feeds ADD keep_days integer, ADD keep_notes integer, ADD due_at bigint;
CREATE INDEX feeds_due ON feeds (due_at) WHERE due_at IS NOT NULL;
ALTER TABLE sweeper ADD keep_days integer NOT NULL DEFAULT 0;
ALTER TABLE notes ADD key text COLLATE "C", ADD expires_at bigint;
CREATE INDEX notes_by_post_key ON notes (feed, key) WHERE key IS NOT NULL;
CREATE INDEX notes_to_expire ON notes (feed, expires_at) WHERE expires_at IS NOT NULL;
ALTER TABLE tags ADD expires_at bigint;
UPDATE notes SET key = 'kept-key', expires_at = 4102444800000,
  metadata = '{"title":"Größe","sender":"Ann","key":"kept-key","posted":{"hash":"kept-hash"},"tags":["a","cat"],"expires":"2100-01-01T00:00:00.000Z"}'
WHERE feed = 2 AND type = 0;
UPDATE tags SET expires_at = 4102444800000 WHERE feed = 2 AND type = 0;
UPDATE feeds SET keep_notes = 1000, due_at = 4102444800000 WHERE id = 2;

ALTER TABLE feeds ADD listed boolean NOT NULL DEFAULT false;
UPDATE feeds SET listed = true WHERE id = 2;

ALTER TABLE feeds ADD byte_count bigint NOT NULL DEFAULT 0, ADD blocked boolean NOT NULL DEFAULT false;
UPDATE feeds SET byte_count = 29 WHERE id = 2;
UPDATE feeds SET blocked = true WHERE id = 3;
ALTER TABLE feed_count ADD bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE notes ADD arrived_at bigint;
UPDATE notes SET arrived_at = 1795278830174 WHERE feed = 2 AND type = 0;
CREATE TABLE operator_records (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (kind, key)
);
INSERT INTO operator_records (kind, key, value, at) VALUES
  ('name', 'empty', 'Größe', 1795278830176),
  ('link', 'still-empty', '', 1795278830177);

CREATE TABLE feed_changes (tx xid8 NOT NULL DEFAULT pg_current_xact_id(), payload text NOT NULL);
CREATE INDEX feed_changes_by_tx ON feed_changes (tx);
INSERT INTO feed_changes (tx, payload) VALUES ('8000000000', 'A.1 2:kept');
CREATE TABLE feed_counts (slot integer PRIMARY KEY, feeds bigint NOT NULL, bytes bigint NOT NULL);
INSERT INTO feed_counts SELECT 0, feeds, bytes FROM feed_count;
INSERT INTO feed_counts SELECT slot, 0, 0 FROM generate_series(1, 15) AS slot;
DROP TABLE feed_count;
CREATE UNLOGGED TABLE service_processes (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);

CREATE TABLE note_feed_schema (version integer NOT NULL);
INSERT INTO note_feed_schema VALUES (7);
