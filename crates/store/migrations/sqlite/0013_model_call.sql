-- The model calls of agents. A row is stored before a call is sent and updated at its end.
CREATE TABLE model_call (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  at                 BIGINT NOT NULL,
  project_id         BIGINT,
  task_id            BIGINT,
  attempt            BIGINT,
  agent              TEXT   NOT NULL,
  account            TEXT   NOT NULL,
  person             TEXT,
  api                TEXT   NOT NULL,
  model              TEXT,
  -- open, done, interrupted, failed or refused.
  status             TEXT   NOT NULL,
  http_status        BIGINT,
  -- NULL if the response did not report them.
  input_tokens       BIGINT,
  cache_read_tokens  BIGINT,
  cache_write_tokens BIGINT,
  output_tokens      BIGINT,
  reasoning_tokens   BIGINT,
  -- In billionths of a dollar; NULL if unknown. What was reserved counts until the cost is known.
  reserved_nanos     BIGINT,
  cost_nanos         BIGINT,
  duration_ms        BIGINT
);

CREATE INDEX model_call_at ON model_call (at);
CREATE INDEX model_call_task ON model_call (task_id, attempt);
