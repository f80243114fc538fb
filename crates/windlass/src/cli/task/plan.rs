//! `windlass task plan`: plans a goal as dependent tasks.

use std::sync::Arc;

use clap::Args;
use windlass_core::SessionOptions;
use windlass_core::escape_line;
use windlass_runner::{AgentPoolManager, AgentResolver, GoalParent, LeadAgent, PlanOptions};
use windlass_tasks::{Dependency, Enqueued, NewIssue, NewTask, TaskId};

use super::super::app::App;
use super::super::console::{QUIET, STRONG};
use super::super::default_agent;
use super::super::editor;
use super::super::exit::{CliError, Exit};
use super::super::interrupt::Interrupts;
use super::super::prompt_text;
use super::super::queue::ProjectQueue;
use super::super::remote;
use super::super::spinner::Spinner;
use super::super::task_runtime::{TaskRuntime, runner_settings, test_settings};
use crate::task_file::{parse_plan, plan_text};

#[derive(Debug, Args)]
pub(super) struct Plan {
    /// The goal; - reads it from stdin
    goal: String,
    /// Agent that makes the plan (default: the configured agent)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Land each change when it is proved
    #[arg(long)]
    land: bool,
    /// Dry run: print the tasks without adding them
    #[arg(long)]
    dry_run: bool,
    /// Edit the plan in $EDITOR before its tasks are added
    #[arg(short, long, conflicts_with = "dry_run")]
    edit: bool,
    /// Add the tasks without asking
    #[arg(short, long, conflicts_with = "edit")]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let goal = prompt_text::read_named("goal", self.goal.clone(), std::io::stdin())?;
        let queue = ProjectQueue::open(app).await?;
        let config = &queue.config;
        let task_runtime = TaskRuntime::for_store(app, &queue, test_settings(config)).await?;
        let agents = app.catalog()?;
        let name = default_agent::choose(app, self.agent.as_deref()).await?;
        let planner = agents.resolve(name.as_deref(), Default::default())?;
        let runner = task_runtime.runner(
            Arc::clone(&queue.store),
            Arc::new(agents),
            None,
            runner_settings(config),
        );
        let lead = LeadAgent {
            runner: Arc::new(runner),
            pool: AgentPoolManager::default(),
            planner,
            options: PlanOptions {
                session: SessionOptions::in_dir(&queue.project.root),
                with_tools: config.run.planner_tools,
                ..PlanOptions::default()
            },
        };
        let parent = GoalParent {
            project_id: queue.project.id,
            issue_id: None,
        };
        let who = name.as_deref().unwrap_or_default();
        app.console.progress(QUIET, &format!("planning with {who}"));
        let mut spinner = Spinner::new(app.console.is_interactive(), "planning");
        let mut interrupts = Interrupts::listen()?;
        let planned = tokio::select! {
            planned = lead.plan(&goal, parent) => planned,
            () = interrupts.next() => return Ok(Exit::Interrupted),
        };
        spinner.clear();
        let mut tasks = planned?;
        for task in &mut tasks {
            task.land = self.land;
        }
        if self.dry_run {
            return self.show(app, &tasks);
        }
        let Some(mut tasks) = self.review(app, tasks).await? else {
            return Ok(Exit::Done);
        };
        let target = remote::publish_target(&queue, None).await?;
        let (title, _) = goal.split_once('\n').unwrap_or((&goal, ""));
        let issue = NewIssue {
            project_id: queue.project.id,
            title: title.to_owned(),
            description: goal.clone(),
        };
        let issue = queue.store.add_issue(issue).await?;
        for task in &mut tasks {
            task.issue_id = Some(issue.id);
            task.target = task.target.take().or_else(|| target.clone());
        }
        let added = queue.store.enqueue(tasks).await?;
        self.show_added(app, &added)
    }

    /// Prints the tasks that were added.
    fn show_added(&self, app: &App<'_>, added: &[Enqueued]) -> Result<Exit, CliError> {
        if self.json {
            let tasks: Vec<_> = added.iter().map(|added| &added.task).collect();
            app.console.pretty_json(&tasks)?;
            return Ok(Exit::Done);
        }
        for added in added {
            let after: Vec<String> = added
                .task
                .dependencies
                .iter()
                .map(TaskId::to_string)
                .collect();
            line(app, &added.task.id.to_string(), &added.task.title, &after)?;
        }
        app.console.line("run them with: windlass worker --once")?;
        Ok(Exit::Done)
    }

    /// Lets the user edit the plan, or asks whether its tasks are added. Returns `None` if they are not. Without a
    /// terminal, nothing is asked.
    async fn review(
        &self,
        app: &App<'_>,
        tasks: Vec<NewTask>,
    ) -> Result<Option<Vec<NewTask>>, CliError> {
        if self.edit {
            return edit(app, tasks).await;
        }
        if self.yes || self.json {
            return Ok(Some(tasks));
        }
        self.show(app, &tasks)?;
        let question = "add these tasks? [y]es, [e]dit, [n]o: ";
        match app.console.ask(question)?.as_deref() {
            None | Some("y" | "yes") => Ok(Some(tasks)),
            Some("e" | "edit") => edit(app, tasks).await,
            Some(_) => {
                app.console.line("nothing was added")?;
                Ok(None)
            }
        }
    }

    fn show(&self, app: &App<'_>, tasks: &[NewTask]) -> Result<Exit, CliError> {
        if self.json {
            app.console.pretty_json(&tasks)?;
            return Ok(Exit::Done);
        }
        for (index, task) in tasks.iter().enumerate() {
            let after: Vec<String> = task.dependencies.iter().map(position).collect();
            line(app, &(index + 1).to_string(), &task.title, &after)?;
        }
        Ok(Exit::Done)
    }
}

/// Lets the user edit the plan. A plan without tasks adds nothing.
async fn edit(app: &App<'_>, tasks: Vec<NewTask>) -> Result<Option<Vec<NewTask>>, CliError> {
    let template = tasks.first().map(|task| NewTask {
        agent: None,
        dependencies: Vec::new(),
        ..task.clone()
    });
    let Some(template) = template else {
        return Ok(Some(tasks));
    };
    let text = plan_text(&tasks);
    let parse = |text: &str| parse_plan(text, &template);
    match editor::edit(app, "plan.md", &text, parse).await? {
        None => Ok(Some(tasks)),
        Some(edited) if edited.is_empty() => {
            app.console.line("nothing was added")?;
            Ok(None)
        }
        Some(edited) => Ok(Some(edited)),
    }
}

fn line(app: &App<'_>, number: &str, title: &str, after: &[String]) -> Result<(), CliError> {
    let after = match after {
        [] => String::new(),
        after => format!("  {QUIET}after {}{QUIET:#}", after.join(", ")),
    };
    let title = escape_line(title);
    app.console
        .line(&format!("{STRONG}{number:>4}{STRONG:#}  {title}{after}"))?;
    Ok(())
}

/// Formats a dependency; siblings are numbered from 1, as in the list.
fn position(dependency: &Dependency) -> String {
    match dependency {
        Dependency::Task(id) => format!("task {id}"),
        Dependency::Sibling(index) => (index + 1).to_string(),
    }
}
