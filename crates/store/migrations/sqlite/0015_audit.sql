-- Who did what through a server or with the command line, and with which result.
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  at      BIGINT NOT NULL,
  actor   TEXT   NOT NULL,
  source  TEXT   NOT NULL,
  action  TEXT   NOT NULL,
  subject TEXT   NOT NULL,
  result  TEXT   NOT NULL,
  request TEXT   NOT NULL
);

CREATE INDEX audit_actor ON audit (actor, id);
CREATE INDEX audit_at ON audit (at);
