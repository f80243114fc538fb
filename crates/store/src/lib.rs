//! Tasks, attempts, leases, events and proofs on SQLite or PostgreSQL.
