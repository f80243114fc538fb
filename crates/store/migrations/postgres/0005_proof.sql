-- A completed task with warnings in its proof needs a review until a person accepts it.
ALTER TABLE task ADD COLUMN needs_review BIGINT NOT NULL DEFAULT 0;
-- The tests that the task is about, as a JSON array.
ALTER TABLE task ADD COLUMN tests TEXT NOT NULL DEFAULT '[]';
ALTER TABLE task ADD COLUMN edits_tests BIGINT NOT NULL DEFAULT 0;
-- The next attempt does not start from the changes of attempts up to this number.
ALTER TABLE task ADD COLUMN fresh BIGINT NOT NULL DEFAULT 0;
-- The commit that keeps the attempt's change.
ALTER TABLE attempt ADD COLUMN change_commit TEXT;
-- The id of the store, in the names of branches and refs.
INSERT INTO counter (name, value) VALUES ('store', CAST(floor(random() * 4294967296) AS BIGINT));
