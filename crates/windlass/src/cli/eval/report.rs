//! The results of an evaluation, as a table and as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use windlass_core::Usage;
use windlass_tasks::{Task, TaskStatus, UsageKey, UsageQuery, UsageTotal, WorkerKind};

use super::plan::{EvalCell, EvalPlan};
use super::suite::AgentChoice;
use crate::cli::console::{Console, STRONG};
use crate::cli::exit::CliError;
use crate::cli::table;

/// The quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.96;

/// The results so far.
#[derive(Debug, Serialize)]
pub(super) struct EvalReport {
    agents: Vec<AgentResult>,
    results: Vec<CellResult>,
    /// The best agent for each kind of task, when all results are there.
    routing: BTreeMap<&'static str, AgentChoice>,
}

/// The results of one agent.
#[derive(Debug, Serialize)]
struct AgentResult {
    agent: AgentChoice,
    passed: usize,
    /// How many results there are.
    done: usize,
    /// How many there will be.
    total: usize,
    pass_rate: Option<f64>,
    /// The bounds of the pass rate with a confidence of 95 %.
    interval: Option<[f64; 2]>,
    /// The cost of all results; `None` if that of one is unknown.
    cost_usd: Option<f64>,
    /// The median.
    seconds: Option<f64>,
    /// Correction rounds for each result.
    corrections: Option<f64>,
}

/// The result of one agent doing one task once.
#[derive(Debug, Serialize)]
struct CellResult {
    agent: AgentChoice,
    task: String,
    kind: WorkerKind,
    repeat: u32,
    status: TaskStatus,
    /// Completed with a proof without warnings.
    passed: bool,
    /// Why it did not pass.
    reason: Option<String>,
    seconds: f64,
    corrections: usize,
    usage: Usage,
}

impl CellResult {
    fn is_done(&self) -> bool {
        !matches!(self.status, TaskStatus::Pending | TaskStatus::InProgress)
    }
}

impl EvalReport {
    /// Reads the results from the store.
    pub(super) async fn read(plan: &EvalPlan) -> Result<Self, CliError> {
        let by_task = UsageQuery::all(UsageKey::Task);
        let calls = plan.calls.usage_totals(by_task).await?;
        let calls: BTreeMap<String, UsageTotal> = calls
            .into_iter()
            .filter_map(|total| Some((total.key.clone()?, total)))
            .collect();
        let mut results = Vec::with_capacity(plan.cells.len());
        for cell in &plan.cells {
            let calls = calls.get(&cell.id.to_string());
            results.push(cell_result(plan, cell, calls).await?);
        }
        let mut agents: BTreeMap<&AgentChoice, Vec<&CellResult>> = BTreeMap::new();
        for result in &results {
            agents.entry(&result.agent).or_default().push(result);
        }
        let mut agents: Vec<AgentResult> = agents
            .into_iter()
            .map(|(agent, results)| agent_result(agent, &results))
            .collect();
        let rate = |agent: &AgentResult| agent.pass_rate.unwrap_or_default();
        agents.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        Ok(Self {
            agents,
            routing: best_agents(&results),
            results,
        })
    }

    pub(super) fn print(&self, console: &Console) -> Result<(), CliError> {
        let rows: Vec<_> = self.agents.iter().map(agent_row).collect();
        let heading = [
            "agent",
            "passed",
            "rate",
            "95 % interval",
            "time",
            "corrections",
            "cost",
        ];
        table::print(console, heading, &rows)?;
        console.line("")?;
        let mut tasks: Vec<&str> = Vec::new();
        for result in &self.results {
            if !tasks.contains(&result.task.as_str()) {
                tasks.push(&result.task);
            }
        }
        let rows = tasks.into_iter().flat_map(|task| {
            self.agents.iter().map(move |agent| {
                let name = if self
                    .agents
                    .first()
                    .is_some_and(|first| first.agent == agent.agent)
                {
                    task
                } else {
                    ""
                };
                let of = self.of(&agent.agent, task);
                let passed = of.iter().filter(|result| result.passed).count();
                let reason = of.iter().find_map(|result| result.reason.as_deref());
                [
                    name.to_owned().into(),
                    agent.agent.to_string().into(),
                    format!("{passed} of {}", of.len()).into(),
                    reason.unwrap_or_default().to_owned().into(),
                ]
            })
        });
        let rows: Vec<[table::Cell; 4]> = rows.collect();
        table::print(console, ["task", "agent", "passed", "a reason"], &rows)?;
        let open = self
            .results
            .iter()
            .filter(|result| !result.is_done())
            .count();
        if open > 0 {
            console.line(&format!(
                "{STRONG}{open} of {} are not done{STRONG:#}: run the command again to continue",
                self.results.len()
            ))?;
        }
        if self.agents.len() > 1 && !self.routing.is_empty() {
            console.line("")?;
            console.line("# the best agent for each kind of task, for windlass.toml")?;
            console.line("[routing]")?;
            for (kind, agent) in &self.routing {
                console.line(&format!("{kind} = {:?}", agent.to_string()))?;
            }
        }
        Ok(())
    }

    fn of(&self, agent: &AgentChoice, task: &str) -> Vec<&CellResult> {
        let results = self.results.iter();
        results
            .filter(|result| result.agent == *agent && result.task == task)
            .collect()
    }
}

/// Returns the result of a cell. The cost of its model calls is exact; without them it is what the agent reports.
async fn cell_result(
    plan: &EvalPlan,
    cell: &EvalCell,
    calls: Option<&UsageTotal>,
) -> Result<CellResult, CliError> {
    let task = plan.store.task(cell.id).await?;
    let attempts = plan.store.attempts(cell.id).await?;
    let times = attempts.iter().filter_map(|attempt| {
        let ended = attempt.ended_at?;
        Some(Duration::from_millis(
            ended.0.saturating_sub(attempt.started_at.0),
        ))
    });
    let seconds = times.sum::<Duration>().as_secs_f64();
    let corrections = plan.store.corrections(cell.id).await?.len();
    let passed = task.status == TaskStatus::Completed && !task.unverified && !task.needs_review;
    let mut usage = task.usage.clone();
    if let Some(calls) = calls {
        usage.cost_usd = (calls.unknown_cost == 0).then(|| calls.cost_nanos as f64 / 1e9);
    }
    Ok(CellResult {
        agent: cell.agent.clone(),
        task: cell.task.clone(),
        kind: task.kind,
        repeat: cell.repeat,
        status: task.status,
        passed,
        reason: reason(&task, passed),
        seconds,
        corrections,
        usage,
    })
}

/// Returns why a task that is done did not pass.
fn reason(task: &Task, passed: bool) -> Option<String> {
    match task.status {
        TaskStatus::Pending | TaskStatus::InProgress => None,
        TaskStatus::Completed if passed => None,
        TaskStatus::Completed if task.unverified => Some("no tests".to_owned()),
        TaskStatus::Completed => Some("the proof has warnings".to_owned()),
        _ => {
            let output = task.output.as_deref().unwrap_or_default();
            let line = output.lines().next().unwrap_or_default();
            Some(format!("{}: {line}", task.status))
        }
    }
}

fn agent_result(agent: &AgentChoice, results: &[&CellResult]) -> AgentResult {
    let done: Vec<&&CellResult> = results.iter().filter(|result| result.is_done()).collect();
    let passed = done.iter().filter(|result| result.passed).count();
    let mut seconds: Vec<f64> = done.iter().map(|result| result.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let corrections: usize = done.iter().map(|result| result.corrections).sum();
    let cost = done.iter().map(|result| result.usage.cost_usd);
    let some = !done.is_empty();
    AgentResult {
        agent: agent.clone(),
        passed,
        done: done.len(),
        total: results.len(),
        pass_rate: some.then(|| passed as f64 / done.len() as f64),
        interval: some.then(|| wilson(passed, done.len())),
        cost_usd: if some { cost.sum() } else { None },
        seconds: seconds.get(seconds.len() / 2).copied(),
        corrections: some.then(|| corrections as f64 / done.len() as f64),
    }
}

/// Returns the best agent for each kind of task: the one that passes most often, then the cheapest, then the fastest. Nothing
/// before all results are there. An agent with another model than the configured one cannot be named in the configuration.
fn best_agents(results: &[CellResult]) -> BTreeMap<&'static str, AgentChoice> {
    if !results.iter().all(CellResult::is_done) {
        return BTreeMap::new();
    }
    let mut by_kind: BTreeMap<(&'static str, &AgentChoice), Vec<&CellResult>> = BTreeMap::new();
    for result in results.iter().filter(|result| result.agent.model.is_none()) {
        let key = (result.kind.as_str(), &result.agent);
        by_kind.entry(key).or_default().push(result);
    }
    let mut best: BTreeMap<&'static str, AgentResult> = BTreeMap::new();
    for ((kind, agent), results) in by_kind {
        let found = agent_result(agent, &results);
        let is_better = match best.get(kind) {
            Some(other) => is_better(&found, other),
            None => found.passed > 0,
        };
        if is_better {
            best.insert(kind, found);
        }
    }
    let names = best.into_iter();
    names.map(|(kind, best)| (kind, best.agent)).collect()
}

/// Returns `true` if an agent is better than another one. An unknown cost is the highest.
fn is_better(one: &AgentResult, other: &AgentResult) -> bool {
    let rank = |agent: &AgentResult| {
        let failed = 1.0 - agent.pass_rate.unwrap_or_default();
        let cost = agent.cost_usd.unwrap_or(f64::INFINITY);
        [failed, cost, agent.seconds.unwrap_or(f64::INFINITY)]
    };
    rank(one) < rank(other)
}

/// Returns Wilson's interval of a rate.
fn wilson(passed: usize, total: usize) -> [f64; 2] {
    let (n, rate) = (total as f64, passed as f64 / total as f64);
    let center = rate + Z * Z / (2.0 * n);
    let half = Z * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    [(center - half) / scale, (center + half) / scale].map(|bound| bound.clamp(0.0, 1.0))
}

fn agent_row(agent: &AgentResult) -> [table::Cell; 7] {
    let percent = |rate: f64| format!("{:.0} %", rate * 100.0);
    let unknown = || "unknown".to_owned();
    [
        agent.agent.to_string().into(),
        format!("{} of {}", agent.passed, agent.done).into(),
        agent.pass_rate.map(percent).unwrap_or_default().into(),
        agent
            .interval
            .map(|[low, high]| format!("{} to {}", percent(low), percent(high)))
            .unwrap_or_default()
            .into(),
        agent
            .seconds
            .map(|seconds| format!("{seconds:.1} s"))
            .unwrap_or_default()
            .into(),
        agent
            .corrections
            .map(|rounds| format!("{rounds:.1}"))
            .unwrap_or_default()
            .into(),
        agent
            .cost_usd
            .map_or_else(unknown, |cost| format!("${cost:.2}"))
            .into(),
    ]
}

#[cfg(test)]
mod tests {
    use windlass_core::Usage;
    use windlass_tasks::{TaskStatus, WorkerKind};

    use super::{CellResult, best_agents, wilson};

    fn result(agent: &str, kind: WorkerKind, passed: bool, cost: f64) -> CellResult {
        CellResult {
            agent: agent.parse().unwrap(),
            task: "t".to_owned(),
            kind,
            repeat: 1,
            status: TaskStatus::Completed,
            passed,
            reason: None,
            seconds: 1.0,
            corrections: 0,
            usage: Usage {
                cost_usd: Some(cost),
                ..Usage::default()
            },
        }
    }

    #[test]
    fn best_agent_passes_most_often_and_costs_least() {
        let (backend, test) = (WorkerKind::Backend, WorkerKind::Test);
        let mut results = vec![
            result("a", backend, true, 2.0),
            result("a", backend, true, 2.0),
            result("b", backend, true, 1.0),
            result("b", backend, false, 1.0),
            result("a", test, true, 2.0),
            result("b", test, true, 1.0),
            result("b:other", test, true, 0.5),
        ];
        let best = best_agents(&results);
        let best: Vec<String> = best
            .iter()
            .map(|(kind, agent)| format!("{kind} {agent}"))
            .collect();
        assert_eq!(best, ["backend a", "test b"]);
        results[0].status = TaskStatus::Pending;
        assert!(best_agents(&results).is_empty());
    }

    #[test]
    fn interval_has_known_bounds() {
        let rounded = |passed, total| wilson(passed, total).map(|bound| (bound * 1000.0).round());
        assert_eq!(rounded(0, 10), [0.0, 278.0]);
        assert_eq!(rounded(5, 10), [237.0, 763.0]);
        assert_eq!(rounded(10, 10), [722.0, 1000.0]);
    }
}
