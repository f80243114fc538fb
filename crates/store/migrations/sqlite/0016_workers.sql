-- The labels that a worker must have to claim the task, as a sorted JSON array.
ALTER TABLE task ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
-- Such a task has 1048576 more in `waiting`, so that claims without labels pass over it: those of older programs too.
CREATE INDEX task_next_labels ON task (priority, workflow_step, id) WHERE status = 'pending' AND labels <> '[]';

-- The worker processes. Each renews its own row; one that was killed leaves a row that is removed later.
CREATE TABLE worker (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT   NOT NULL,
  machine     TEXT   NOT NULL,
  version     TEXT   NOT NULL,
  -- JSON arrays.
  labels      TEXT   NOT NULL,
  kinds       TEXT   NOT NULL,
  agents      TEXT   NOT NULL,
  -- The only project whose tasks it claims. NULL: all.
  project_id  BIGINT,
  lanes       BIGINT NOT NULL,
  running     BIGINT NOT NULL DEFAULT 0,
  -- 1: it claims nothing more, and ends when it runs nothing.
  drain       BIGINT NOT NULL DEFAULT 0,
  interval_ms BIGINT NOT NULL,
  started_at  BIGINT NOT NULL,
  -- The last renewal, by the clock of the database.
  seen_at     BIGINT NOT NULL
);
