mod bad;
mod conformance;
mod exact;
mod record;
mod replay;
mod scenario_failures;
