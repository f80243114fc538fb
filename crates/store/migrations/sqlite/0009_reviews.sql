-- Reviews of changes. A version of a change is the number of the attempt that made it.
CREATE TABLE review (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id  BIGINT NOT NULL REFERENCES project (id),
  task_id     BIGINT NOT NULL REFERENCES task (id),
  attempt     BIGINT NOT NULL,
  decision    TEXT   NOT NULL,
  author      TEXT   NOT NULL,
  author_kind TEXT   NOT NULL,
  body        TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

CREATE INDEX review_task ON review (task_id, id);

CREATE TABLE review_comment (
  review_id BIGINT NOT NULL REFERENCES review (id),
  number    BIGINT NOT NULL,
  path      TEXT   NOT NULL,
  -- NULL for a comment on the whole file.
  line      BIGINT,
  side      TEXT   NOT NULL,
  quote     TEXT,
  body      TEXT   NOT NULL,
  PRIMARY KEY (review_id, number)
);

-- The decision of the last review of the current version.
ALTER TABLE task ADD COLUMN review TEXT;
-- The agent's session, as JSON, so that a later attempt can resume it.
ALTER TABLE attempt ADD COLUMN session TEXT;
-- The proofs of versions that a later one replaced. The table proof has the newest.
CREATE TABLE earlier_proof (
  task_id BIGINT NOT NULL REFERENCES task (id),
  attempt BIGINT NOT NULL,
  body    TEXT   NOT NULL,
  PRIMARY KEY (task_id, attempt)
);
