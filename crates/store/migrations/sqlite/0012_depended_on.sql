-- 1 if another task depends on this one, or did. A transaction that has locked the row and finds 0 need not update others.
ALTER TABLE task ADD COLUMN depended_on BIGINT NOT NULL DEFAULT 0;
UPDATE task SET depended_on = 1 WHERE id IN (SELECT on_id FROM dependency);
