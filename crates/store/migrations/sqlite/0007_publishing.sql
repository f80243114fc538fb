-- Several candidates work on a task, and the best one is chosen: the agents and the choice, as JSON. NULL once it is
-- chosen.
ALTER TABLE task ADD COLUMN best_of TEXT;
ALTER TABLE task ADD COLUMN candidate_of BIGINT REFERENCES task (id);
CREATE INDEX task_candidate ON task (candidate_of, id) WHERE candidate_of IS NOT NULL;

-- Pushes of a task's branch: one for each remote.
CREATE TABLE pushes (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id    BIGINT NOT NULL REFERENCES task (id),
  remote     TEXT   NOT NULL,
  ref        TEXT   NOT NULL,
  -- The commit that the last successful push sent, and a JSON array of those that were sent since.
  pushed     TEXT,
  sent       TEXT   NOT NULL DEFAULT '[]',
  -- The address of the pull request.
  request    TEXT,
  state      TEXT   NOT NULL,
  error      TEXT,
  tries      BIGINT NOT NULL DEFAULT 0,
  -- The fencing token of the process that pushes.
  claim      BIGINT NOT NULL DEFAULT 0,
  due_at     BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX pushes_task ON pushes (task_id, remote);
CREATE INDEX pushes_due ON pushes (state, due_at);

-- Notifications: one for each task, cause and channel. The positions of followers of the event log are in the table
-- of counters.
CREATE TABLE notifications (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id BIGINT NOT NULL REFERENCES project (id),
  task_id    BIGINT NOT NULL REFERENCES task (id),
  cause      TEXT   NOT NULL,
  channel    TEXT   NOT NULL,
  body       TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  error      TEXT,
  tries      BIGINT NOT NULL DEFAULT 0,
  claim      BIGINT NOT NULL DEFAULT 0,
  due_at     BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX notifications_cause ON notifications (task_id, cause, channel);
CREATE INDEX notifications_due ON notifications (state, due_at);
