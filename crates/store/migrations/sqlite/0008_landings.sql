-- The task lands on its target branch when it is proved.
ALTER TABLE task ADD COLUMN land BIGINT NOT NULL DEFAULT 0;
-- The commit with which the change landed, when, and who requested it.
ALTER TABLE task ADD COLUMN landed_commit TEXT;
ALTER TABLE task ADD COLUMN landed_at BIGINT;
ALTER TABLE task ADD COLUMN landed_by TEXT;

-- The queues of changes that land, one for each target branch of a project.
CREATE TABLE landings (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id   BIGINT NOT NULL REFERENCES project (id),
  task_id      BIGINT NOT NULL REFERENCES task (id),
  attempt      BIGINT NOT NULL,
  target       TEXT   NOT NULL,
  requested_by TEXT   NOT NULL,
  -- queued, landing, landed or returned.
  state        TEXT   NOT NULL,
  worker       TEXT,
  -- The fencing token of the worker that has the entry.
  token        BIGINT NOT NULL DEFAULT 0,
  lease_ms     BIGINT NOT NULL DEFAULT 0,
  lease_until  BIGINT NOT NULL DEFAULT 0,
  lease_clock  TEXT   NOT NULL DEFAULT '',
  lease_beat   BIGINT NOT NULL DEFAULT 0,
  lease_at     BIGINT NOT NULL DEFAULT 0,
  -- The commits that a worker was about to move the branch to, as a JSON array.
  intents      TEXT   NOT NULL DEFAULT '[]',
  landed_as    TEXT,
  reason       TEXT,
  -- The test cases that failed, as a JSON array.
  cases        TEXT   NOT NULL DEFAULT '[]',
  created_at   BIGINT NOT NULL,
  ended_at     BIGINT
);

CREATE UNIQUE INDEX landings_open ON landings (task_id) WHERE state IN ('queued', 'landing');
CREATE INDEX landings_state ON landings (state, id);
CREATE INDEX task_land ON task (id) WHERE land = 1 AND landed_commit IS NULL AND status = 'completed';
CREATE INDEX landings_task ON landings (task_id, id);

-- The last fencing token. A transaction that claims landings holds the lock of this row until it ends.
INSERT INTO counter (name, value) VALUES ('landing', 0);
