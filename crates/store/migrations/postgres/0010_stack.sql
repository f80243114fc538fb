-- The branch that the work is for. NULL: the one that is checked out when an attempt starts.
ALTER TABLE task ADD COLUMN target TEXT;
-- 1 if the task was completed and a change in its base was replaced.
ALTER TABLE task ADD COLUMN outdated BIGINT NOT NULL DEFAULT 0;
-- 1 if the task merges the changes of its dependencies.
ALTER TABLE task ADD COLUMN merges BIGINT NOT NULL DEFAULT 0;
-- The commit that the attempt started from, and the changes of other tasks in it as a JSON array.
ALTER TABLE attempt ADD COLUMN base TEXT;
ALTER TABLE attempt ADD COLUMN base_parts TEXT NOT NULL DEFAULT '[]';
-- The commit with which the attempt completed its task.
ALTER TABLE attempt ADD COLUMN published TEXT;
