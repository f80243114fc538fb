-- A lease belongs to a clock that never jumps. `lease_until` is a time of that clock, in milliseconds. A process with
-- another clock cannot read that time: it watches `lease_beat`, which grows with each renewal.
ALTER TABLE task ADD COLUMN lease_clock TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN lease_beat BIGINT NOT NULL DEFAULT 0;
-- When the lease was renewed, by the database's clock.
ALTER TABLE task ADD COLUMN lease_at BIGINT NOT NULL DEFAULT 0;
