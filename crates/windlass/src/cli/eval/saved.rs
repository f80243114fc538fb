//! The results of evaluations in files, for the dashboard.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use windlass_core::{Clock, SystemClock};
use windlass_server::Evaluation;

use super::plan::EvalPlan;
use super::report::EvalReport;
use crate::cli::exit::CliError;

const FILE: &str = "report.json";
/// The maximum size of a file.
const MAX_BYTES: u64 = 16 << 20;
/// How many evaluations are shown.
const MAX_SHOWN: usize = 100;

/// Saves the results so far.
pub(super) async fn save(plan: &EvalPlan) -> Result<EvalReport, CliError> {
    let report = EvalReport::read(plan).await?;
    let path = plan.dir.join(FILE);
    write(plan, &report, &path)
        .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
    Ok(report)
}

/// Writes the file whole or not at all.
fn write(plan: &EvalPlan, report: &EvalReport, path: &Path) -> io::Result<()> {
    let saved = Evaluation {
        file: plan.file.clone(),
        updated_at: SystemClock::new().now(),
        report: serde_json::to_value(report)?,
    };
    let mut file = tempfile::NamedTempFile::new_in(&plan.dir)?;
    file.write_all(&serde_json::to_vec(&saved)?)?;
    file.persist(path)?;
    Ok(())
}

/// Returns the results of all evaluations, the newest first. A file that cannot be read is skipped.
pub(in crate::cli) fn saved_reports(state_dir: &Path) -> Vec<Evaluation> {
    let Ok(dirs) = std::fs::read_dir(state_dir.join("eval")) else {
        return Vec::new();
    };
    let files = dirs.filter_map(|dir| dir.ok().map(|dir| dir.path().join(FILE)));
    let mut found: Vec<Evaluation> = files.filter_map(|file| read(&file)).collect();
    found.sort_by_key(|evaluation| std::cmp::Reverse(evaluation.updated_at));
    found.truncate(MAX_SHOWN);
    found
}

fn read(path: &Path) -> Option<Evaluation> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let parsed = serde_json::from_str(&text);
    let parsed = parsed.inspect_err(|error| tracing::warn!(?path, %error, "not an evaluation"));
    parsed.ok()
}
