-- Accounts that their provider limits, with the agent that got the answer.
CREATE TABLE account_limit (
  account    TEXT   NOT NULL,
  agent      TEXT   NOT NULL,
  until      BIGINT NOT NULL,
  reason     TEXT   NOT NULL,
  PRIMARY KEY (account, agent)
);
