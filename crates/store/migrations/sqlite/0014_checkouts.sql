-- A project is known by its name and its root commit. The column `root` is the path where it was registered first; each
-- machine has its own in `checkout`.
ALTER TABLE project ADD COLUMN root_commit TEXT;
-- The address of the repository through which machines exchange commits, without a password.
ALTER TABLE project ADD COLUMN remote TEXT;

CREATE TABLE checkout (
  project_id BIGINT NOT NULL REFERENCES project (id),
  -- The name of the machine; empty for a path from before machines had names, which counts on every machine.
  machine    TEXT   NOT NULL,
  root       TEXT   NOT NULL,
  PRIMARY KEY (project_id, machine)
);

CREATE UNIQUE INDEX checkout_root ON checkout (machine, root);
INSERT INTO checkout (project_id, machine, root) SELECT id, '', root FROM project;
