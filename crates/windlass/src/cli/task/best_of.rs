//! The flags for several candidates of one task.

use clap::Args;
use windlass_tasks::{BestOf, MAX_CANDIDATES};

use super::super::exit::CliError;

/// How many agents do the task side by side, and how the best one is chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several candidates")]
pub(super) struct BestOfArgs {
    /// Let these agents do the task side by side, and keep the best change
    #[arg(
        long,
        value_name = "NAME,NAME",
        value_delimiter = ',',
        conflicts_with = "agent"
    )]
    agents: Vec<String>,
    /// Number of candidates (default: one for each of --agents)
    #[arg(long, value_name = "N")]
    best_of: Option<usize>,
    /// Take the first change with a proof without warnings, and stop the others
    #[arg(long)]
    first: bool,
    /// Agent that chooses among the changes with a proof
    #[arg(long, value_name = "NAME", conflicts_with = "first")]
    judge: Option<String>,
    /// What the judge should look at
    #[arg(long, value_name = "TEXT", requires = "judge")]
    rubric: Option<String>,
}

impl BestOfArgs {
    /// Returns the candidates, if the flags ask for several. If there are more candidates than agents, the agents take
    /// turns; without agents, all candidates have the task's own.
    pub(super) fn read(self) -> Result<Option<BestOf>, CliError> {
        let named = self.agents.len();
        let count = match self.best_of {
            Some(count) => count,
            None if named > 0 => named,
            None if self.first || self.judge.is_some() => {
                return Err(CliError::usage(
                    "--first and --judge choose among candidates: add --agents or --best-of",
                ));
            }
            None => return Ok(None),
        };
        if !(2..=MAX_CANDIDATES).contains(&count) {
            return Err(CliError::usage(format!(
                "{count} candidates: use 2 to {MAX_CANDIDATES}"
            )));
        }
        if named > count {
            return Err(CliError::usage(format!(
                "--agents has {named} names, and --best-of is {count}: use --best-of {named}"
            )));
        }
        let agents = if named == 0 {
            vec![None; count]
        } else {
            self.agents
                .into_iter()
                .map(Some)
                .cycle()
                .take(count)
                .collect()
        };
        Ok(Some(BestOf {
            agents,
            first: self.first,
            judge: self.judge,
            rubric: self.rubric,
        }))
    }
}
