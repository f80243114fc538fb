-- Settings of the agent for this task alone, as JSON. NULL: those of the configuration.
ALTER TABLE task ADD COLUMN agent_settings TEXT;
