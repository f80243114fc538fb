-- Tokens of a server. Only hashes are stored (SHA-256, hexadecimal).
CREATE TABLE access_token (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT   NOT NULL,
  hash       TEXT   NOT NULL UNIQUE,
  -- JSON arrays. Projects are NULL for a token of all projects.
  scopes     TEXT   NOT NULL,
  projects   TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);

CREATE UNIQUE INDEX access_token_name ON access_token (name) WHERE revoked_at IS NULL;

-- Sessions of browsers. The token of a session may be the server's own, which is not in the table above.
CREATE TABLE browser_session (
  hash       TEXT   NOT NULL PRIMARY KEY,
  token_hash TEXT   NOT NULL,
  host       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
