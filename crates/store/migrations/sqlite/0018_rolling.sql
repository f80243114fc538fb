-- Programs of an older schema version than this refuse the store; migrations that older programs cannot use raise it.
INSERT INTO counter (name, value) VALUES ('oldest_program', 17);
-- The schema version of the worker's program. 0: it is older than this column.
ALTER TABLE worker ADD COLUMN schema_version BIGINT NOT NULL DEFAULT 0;
-- Lists by status, and the numbers of tasks by status, do not read the tasks that ended.
CREATE INDEX task_status ON task (status, id);
-- The tasks of an issue.
CREATE INDEX task_issue ON task (issue_id, id) WHERE issue_id IS NOT NULL;
