mod bad;
mod conformance;
mod exact;
mod record;
mod replay;
#[cfg(feature = "scripted")]
mod scenario_failures;
