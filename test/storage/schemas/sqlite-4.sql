CREATE TABLE feeds (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     name TEXT UNIQUE,
     read_id TEXT NOT NULL UNIQUE,
     password_hash TEXT,
     title TEXT NOT NULL DEFAULT '',
     description TEXT NOT NULL DEFAULT '',
     show_sender INTEGER NOT NULL DEFAULT 1,
     image TEXT,
     note_count INTEGER NOT NULL DEFAULT 0,
     image_count INTEGER NOT NULL DEFAULT 0,
     changed_at INTEGER NOT NULL
   ) STRICT;

CREATE INDEX feeds_to_clear ON feeds (id) WHERE name IS NULL AND note_count > 0;

CREATE TABLE notes (
     row INTEGER PRIMARY KEY,
     feed INTEGER NOT NULL,
     id TEXT NOT NULL,
     type INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     modified_at INTEGER NOT NULL,
     metadata TEXT,
     sha256 TEXT,
     size INTEGER NOT NULL,
     content BLOB NOT NULL
   ) STRICT;

CREATE UNIQUE INDEX notes_by_file ON notes (feed, id, type);

CREATE INDEX notes_in_order ON notes (feed, created_at, id, type);

CREATE TABLE tags (
     feed INTEGER NOT NULL,
     tag TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     id TEXT NOT NULL,
     type INTEGER NOT NULL,
     note INTEGER NOT NULL,
     PRIMARY KEY (feed, tag, created_at, id, type)
   ) STRICT, WITHOUT ROWID;

ALTER TABLE notes ADD COLUMN image_key TEXT;

CREATE UNIQUE INDEX notes_by_key ON notes (image_key) WHERE image_key IS NOT NULL;

CREATE INDEX pictures_in_order ON notes (created_at, feed, id, type) WHERE type > 0;

CREATE TABLE freed_keys (
     key TEXT PRIMARY KEY,
     due_at INTEGER,
     attempts INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;

CREATE INDEX freed_keys_due ON freed_keys (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE token_series (
     id TEXT PRIMARY KEY,
     turn INTEGER NOT NULL,
     until INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
CREATE INDEX token_series_to_forget ON token_series (until);

ALTER TABLE feeds ADD COLUMN license TEXT;
ALTER TABLE feeds ADD COLUMN license_id TEXT;
CREATE INDEX feeds_by_license ON feeds (license_id) WHERE license_id IS NOT NULL;

INSERT INTO freed_keys (key, due_at, attempts) VALUES ('00112233445566778899aabbccddeeff', NULL, 1);

INSERT INTO feeds (id, name, read_id, password_hash, title, description, show_sender, image, note_count, image_count, changed_at)
VALUES (1, NULL, 'once-taken', NULL, '', '', 1, NULL, 1, 0, 1795278830127);
INSERT INTO feeds (id, name, read_id, password_hash, title, description, show_sender, image, note_count, image_count, changed_at)
VALUES (2, 'diary', 'my-diary', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g', 'Diary', 'It''s mine', 0, '20261102T080000Z-019a4382-0000-7000-8000-000000000002.png', 2, 1, 1795278830174);
INSERT INTO feeds (id, name, read_id, password_hash, title, description, show_sender, image, note_count, image_count, changed_at)
VALUES (3, 'empty', 'still-empty', NULL, '', '', 1, NULL, 0, 0, 1795278830175);

INSERT INTO notes (row, feed, id, type, created_at, modified_at, metadata, sha256, size, content, image_key)
VALUES (1, 1, '20261101T080000Z-019a3e5c-0000-7000-8000-000000000001', 1, 1793520000000, 1795278830081, '{"tags":["old"]}', NULL, 4, X'', 'ffeeddccbbaa99887766554433221100');
INSERT INTO notes (row, feed, id, type, created_at, modified_at, metadata, sha256, size, content)
VALUES (2, 2, '20261102T080000Z-019a4382-0000-7000-8000-000000000002', 1, 1793606400000, 1795278830169, '{"alt":"A cat","name":"my cat.png","tags":["cat"]}', 'Yt5MN0c0tZ0Z2dSAkUJ0oXCPY8nYvNlW8nCwFvYqk9s', 10, X'89504E470D0A1A0A00FF');
INSERT INTO notes (row, feed, id, type, created_at, modified_at, metadata, sha256, size, content)
VALUES (3, 2, '20261103T080000Z-019a48a8-0000-7000-8000-000000000003', 0, 1793692800000, 1795278830171, '{"title":"Größe","sender":"Ann","tags":["a","cat"]}', NULL, 19, X'EFBBBF23204772C3BCC39F650D0A0020656E64');

INSERT INTO tags (feed, tag, created_at, id, type, note)
VALUES (2, 'a', 1793692800000, '20261103T080000Z-019a48a8-0000-7000-8000-000000000003', 0, 3);
INSERT INTO tags (feed, tag, created_at, id, type, note)
VALUES (2, 'cat', 1793606400000, '20261102T080000Z-019a4382-0000-7000-8000-000000000002', 1, 2);
INSERT INTO tags (feed, tag, created_at, id, type, note)
VALUES (2, 'cat', 1793692800000, '20261103T080000Z-019a48a8-0000-7000-8000-000000000003', 0, 3);

UPDATE feeds SET license = 'nf1.x.y', license_id = 'kept-license' WHERE id = 2;

ALTER TABLE feeds ADD COLUMN keep_days INTEGER;
ALTER TABLE feeds ADD COLUMN keep_notes INTEGER;
ALTER TABLE feeds ADD COLUMN due_at INTEGER;
CREATE INDEX feeds_due ON feeds (due_at) WHERE due_at IS NOT NULL;
CREATE TABLE sweeper (keep_days INTEGER NOT NULL) STRICT;
INSERT INTO sweeper VALUES (0);

CREATE TABLE note_keys (
     feed INTEGER NOT NULL,
     key TEXT NOT NULL,
     note INTEGER NOT NULL,
     PRIMARY KEY (feed, key, note)
   ) STRICT, WITHOUT ROWID;
CREATE TABLE expiries (
     note INTEGER PRIMARY KEY,
     feed INTEGER NOT NULL,
     expires_at INTEGER NOT NULL
   ) STRICT;
CREATE INDEX expiries_by_feed ON expiries (feed, expires_at);

INSERT INTO note_keys (feed, key, note) VALUES (2, 'kept-key', 3), (1, 'old-key', 1);
INSERT INTO expiries (note, feed, expires_at) VALUES (3, 2, 4102444800000), (1, 1, 1793520000001);
UPDATE notes SET metadata = '{"title":"Größe","sender":"Ann","key":"kept-key","posted":{"hash":"kept-hash"},"tags":["a","cat"],"expires":"2100-01-01T00:00:00.000Z"}'
WHERE row = 3;
UPDATE feeds SET keep_notes = 1000, due_at = 4102444800000 WHERE id = 2;

ALTER TABLE feeds ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;
UPDATE feeds SET listed = 1 WHERE id = 2;

PRAGMA user_version = 4;
