-- Every column is a 64-bit integer or text. Times are milliseconds since 1970. JSON is stored as text.

CREATE TABLE project (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT   NOT NULL,
  root        TEXT   NOT NULL UNIQUE,
  created_at  BIGINT NOT NULL
);

CREATE TABLE issue (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id  BIGINT NOT NULL REFERENCES project (id),
  title       TEXT   NOT NULL,
  description TEXT   NOT NULL,
  created_at  BIGINT NOT NULL
);

CREATE TABLE task (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id       BIGINT NOT NULL REFERENCES project (id),
  issue_id         BIGINT REFERENCES issue (id),
  title            TEXT   NOT NULL,
  description      TEXT   NOT NULL,
  status           TEXT   NOT NULL,
  priority         BIGINT NOT NULL,
  workflow_step    BIGINT NOT NULL,
  kind             TEXT   NOT NULL,
  agent            TEXT,
  idempotency_key  TEXT   UNIQUE,
  -- The task as requested. Stored only to compare requests that have the same idempotency key.
  wish             TEXT,
  -- The number of the last attempt: the fencing token. It only grows.
  attempt          BIGINT NOT NULL DEFAULT 0,
  -- Number of attempts that count towards the limit. Released attempts do not count.
  tries            BIGINT NOT NULL DEFAULT 0,
  max_attempts     BIGINT NOT NULL,
  output           TEXT,
  unverified       BIGINT NOT NULL DEFAULT 0,
  branch           TEXT,
  usage            TEXT   NOT NULL DEFAULT '',
  lease_ms         BIGINT NOT NULL DEFAULT 0,
  lease_until      BIGINT NOT NULL DEFAULT 0,
  cancel_requested BIGINT NOT NULL DEFAULT 0,
  -- Number of dependencies that are not completed.
  waiting          BIGINT NOT NULL DEFAULT 0,
  -- 1 if the task is blocked by a dependency and not by a question.
  held             BIGINT NOT NULL DEFAULT 0,
  created_at       BIGINT NOT NULL,
  updated_at       BIGINT NOT NULL,
  completed_at     BIGINT
);

CREATE INDEX task_next ON task (priority, workflow_step, id) WHERE status = 'pending' AND waiting = 0;
CREATE INDEX task_next_of_project ON task (project_id, priority, workflow_step, id)
  WHERE status = 'pending' AND waiting = 0;
CREATE INDEX task_lease ON task (lease_until) WHERE status = 'in_progress';
CREATE INDEX task_project ON task (project_id, id);

CREATE TABLE dependency (
  task_id BIGINT NOT NULL REFERENCES task (id),
  on_id   BIGINT NOT NULL REFERENCES task (id),
  PRIMARY KEY (task_id, on_id)
);

CREATE INDEX dependency_on ON dependency (on_id);

CREATE TABLE attempt (
  task_id    BIGINT NOT NULL REFERENCES task (id),
  number     BIGINT NOT NULL,
  worker     TEXT   NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at   BIGINT,
  -- The reported outcome (completed, failed, blocked or cancelled), released or lost.
  ended      TEXT,
  -- The commit that the attempt was about to publish.
  intent     TEXT,
  usage      TEXT,
  PRIMARY KEY (task_id, number)
);

CREATE TABLE test_result (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id BIGINT NOT NULL REFERENCES task (id),
  attempt BIGINT NOT NULL,
  at      BIGINT NOT NULL,
  body    TEXT   NOT NULL
);

CREATE INDEX test_result_task ON test_result (task_id, id);

CREATE TABLE correction (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id BIGINT NOT NULL REFERENCES task (id),
  attempt BIGINT NOT NULL,
  at      BIGINT NOT NULL,
  body    TEXT   NOT NULL
);

CREATE INDEX correction_task ON correction (task_id, id);

CREATE TABLE proof (
  task_id BIGINT NOT NULL PRIMARY KEY REFERENCES task (id),
  attempt BIGINT NOT NULL,
  body    TEXT   NOT NULL
);

CREATE TABLE blocker (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id  BIGINT NOT NULL REFERENCES project (id),
  task_id     BIGINT NOT NULL REFERENCES task (id),
  attempt     BIGINT NOT NULL,
  question    TEXT   NOT NULL,
  created_at  BIGINT NOT NULL,
  answer      TEXT,
  answered_at BIGINT
);

CREATE INDEX blocker_task ON blocker (task_id, id);

CREATE TABLE approval (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id    BIGINT NOT NULL REFERENCES task (id),
  attempt    BIGINT NOT NULL,
  body       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  chosen     TEXT,
  decided_at BIGINT
);

CREATE INDEX approval_open ON approval (task_id, attempt) WHERE decided_at IS NULL;

CREATE TABLE trace (
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT   NOT NULL UNIQUE,
  task_id BIGINT,
  at      BIGINT NOT NULL,
  body    TEXT   NOT NULL
);

CREATE INDEX trace_task ON trace (task_id, number);

CREATE TABLE event (
  seq        BIGINT NOT NULL PRIMARY KEY,
  at         BIGINT NOT NULL,
  project_id BIGINT NOT NULL,
  task_id    BIGINT,
  body       TEXT   NOT NULL
);

CREATE INDEX event_task ON event (task_id, seq);
CREATE INDEX event_project ON event (project_id, seq);

-- One row has the last event number. The other serializes changes to dependencies. A transaction that needs either
-- row holds its lock until the transaction ends.
CREATE TABLE counter (
  name  TEXT   NOT NULL PRIMARY KEY,
  value BIGINT NOT NULL
);

INSERT INTO counter (name, value) VALUES ('event', 0), ('graph', 0);
