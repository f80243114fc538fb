-- Why an attempt did not complete its task.
ALTER TABLE attempt ADD COLUMN error TEXT;
