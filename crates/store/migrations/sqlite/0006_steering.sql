-- A paused task is not claimed.
ALTER TABLE task ADD COLUMN paused BIGINT NOT NULL DEFAULT 0;
-- The note that every agent of the project receives.
ALTER TABLE project ADD COLUMN note TEXT NOT NULL DEFAULT '';
-- Workers claim no task of these projects. Project 0 stands for all.
CREATE TABLE worker_pause (
  project_id BIGINT NOT NULL PRIMARY KEY,
  reason     TEXT   NOT NULL,
  since      BIGINT NOT NULL
);

-- Tasks that are added again and again.
CREATE TABLE schedule (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id BIGINT NOT NULL REFERENCES project (id),
  cron       TEXT   NOT NULL,
  zone       TEXT   NOT NULL,
  -- The task to add, as JSON.
  task       TEXT   NOT NULL,
  paused     BIGINT NOT NULL DEFAULT 0,
  -- When it is due.
  next_at    BIGINT NOT NULL,
  -- The last due time for which a task was added, and that task.
  last_at    BIGINT,
  last_task  BIGINT REFERENCES task (id),
  created_at BIGINT NOT NULL
);

-- What a person says to the agent of a task. It is delivered once.
CREATE TABLE message (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id      BIGINT NOT NULL REFERENCES task (id),
  author       TEXT   NOT NULL,
  text         TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  -- The attempt that received it.
  attempt      BIGINT,
  delivered_at BIGINT
);

CREATE INDEX message_open ON message (task_id, id) WHERE delivered_at IS NULL;
