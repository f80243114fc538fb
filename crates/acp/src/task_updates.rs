//! Converts the progress of a task to session updates. Pure.

use agent_client_protocol::v1::schema::{Plan, SessionUpdate, ToolCall, ToolCallStatus, ToolKind};
use windlass_core::{AgentEvent, PlanStatus};
use windlass_tasks::{Broadcast, TestStatus};

use crate::content;
use crate::updates::UpdateWriter;

/// How far a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    #[default]
    Planning,
    Working,
    Testing,
    Done,
}

/// The plan of a task, with its current status.
#[derive(Debug, Default)]
pub(crate) struct TaskPlan {
    steps: Vec<String>,
    stage: Stage,
}

impl TaskPlan {
    /// Sets the planner's steps.
    pub(crate) fn set_steps(&mut self, steps: Vec<String>) -> SessionUpdate {
        self.steps = steps;
        self.stage = Stage::Working;
        self.update()
    }

    /// Sets the stage. Returns an update if it changed.
    pub(crate) fn set_stage(&mut self, stage: Stage) -> Option<SessionUpdate> {
        (std::mem::replace(&mut self.stage, stage) != stage).then(|| self.update())
    }

    /// Returns the plan: planning, the planner's steps, the tests, and the proof.
    pub(crate) fn update(&self) -> SessionUpdate {
        let status = |stage: Stage| match self.stage.cmp(&stage) {
            std::cmp::Ordering::Less => PlanStatus::Pending,
            std::cmp::Ordering::Equal => PlanStatus::InProgress,
            std::cmp::Ordering::Greater => PlanStatus::Completed,
        };
        let entry = |step: &str, stage| content::plan_entry(step, status(stage));
        let mut entries = vec![entry("Plan the task", Stage::Planning)];
        entries.extend(self.steps.iter().map(|step| entry(step, Stage::Working)));
        if self.steps.is_empty() {
            entries.push(entry("Make the change in a private clone", Stage::Working));
        }
        entries.push(entry("Run the tests and store the proof", Stage::Testing));
        SessionUpdate::Plan(Plan::new(entries))
    }
}

/// Converts one message of the runner.
pub(crate) fn updates(
    message: &Broadcast,
    plan: &mut TaskPlan,
    writer: &mut UpdateWriter,
) -> Vec<SessionUpdate> {
    match message {
        Broadcast::AgentEvent { envelope, .. } => agent_updates(&envelope.event, writer),
        Broadcast::ActivityUpdate {
            activity_type,
            message,
            ..
        } => {
            let stage = match activity_type.as_str() {
                "agent" => Some(Stage::Working),
                "tests" => Some(Stage::Testing),
                _ => None,
            };
            let planned = stage.and_then(|stage| plan.set_stage(stage));
            let line = content::thought(&format!("{message}\n"));
            planned.into_iter().chain([line]).collect()
        }
        Broadcast::TestResult {
            status,
            passed,
            failed,
            errors,
            duration,
            ..
        } => {
            let title = format!(
                "tests {}: {passed} passed, {failed} failed, {errors} errors in {duration:.1} s",
                status.as_str()
            );
            vec![finished(
                writer,
                &title,
                ToolKind::Execute,
                *status == TestStatus::Passed,
            )]
        }
        Broadcast::CorrectionAttempt {
            attempt_num,
            max_attempts,
            status,
            error_summary,
            ..
        } if status == "in_progress" => {
            let why = error_summary.as_deref().unwrap_or("the tests failed");
            let title = format!("correction {attempt_num} of {max_attempts}: {why}");
            let planned = plan.set_stage(Stage::Working);
            let call = finished(writer, &title, ToolKind::Think, true);
            planned.into_iter().chain([call]).collect()
        }
        _ => Vec::new(),
    }
}

/// Converts an event of the agent. The next turn of the agent is a new paragraph.
fn agent_updates(event: &AgentEvent, writer: &mut UpdateWriter) -> Vec<SessionUpdate> {
    let mut updates = writer.updates(event);
    if let AgentEvent::Error { code, message, .. } = event {
        updates.push(content::thought(&format!("{code}: {message}\n")));
    }
    if event.is_terminal() {
        updates.push(content::message("\n\n"));
        writer.start_answer();
    }
    updates
}

/// Returns a tool call that is already over.
fn finished(
    writer: &mut UpdateWriter,
    title: &str,
    kind: ToolKind,
    success: bool,
) -> SessionUpdate {
    let status = if success {
        ToolCallStatus::Completed
    } else {
        ToolCallStatus::Failed
    };
    let id = writer.new_id();
    SessionUpdate::ToolCall(ToolCall::new(id, title).kind(kind).status(status))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use windlass_core::{Envelope, Timestamp, TurnId};
    use windlass_tasks::{ProjectId, TaskId};

    use super::*;
    use crate::paths::Paths;

    #[test]
    fn a_task_from_plan_to_tests() {
        let mut plan = TaskPlan::default();
        let mut writer = UpdateWriter::new(2, Paths::default());
        let activity = |kind: &str, message: &str| Broadcast::ActivityUpdate {
            project_id: ProjectId::from(1),
            activity_type: kind.to_owned(),
            agent_id: String::new(),
            message: message.to_owned(),
            task_id: Some(TaskId::from(7)),
        };
        let event = Envelope {
            seq: 1,
            at: Timestamp(0),
            session: "s".into(),
            turn: TurnId(1),
            event: AgentEvent::result("Done."),
            raw: None,
        };
        let tests = |status, failed| Broadcast::TestResult {
            summary: None,
            project_id: ProjectId::from(1),
            task_id: TaskId::from(7),
            status,
            passed: 2,
            failed,
            errors: 0,
            total: 3,
            duration: 0.25,
        };
        let messages = [
            activity("agent", "codex started"),
            Broadcast::AgentEvent {
                project_id: ProjectId::from(1),
                task_id: TaskId::from(7),
                attempt: 1,
                envelope: Box::new(event),
            },
            activity("tests", "running the tests"),
            tests(TestStatus::Failed, 1),
            Broadcast::CorrectionAttempt {
                project_id: ProjectId::from(1),
                task_id: TaskId::from(7),
                attempt_num: 1,
                max_attempts: 3,
                status: "in_progress".to_owned(),
                error_summary: None,
            },
            tests(TestStatus::Passed, 0),
        ];
        let mut all = vec![plan.update(), plan.set_steps(vec!["Fix it".to_owned()])];
        for message in &messages {
            all.extend(updates(message, &mut plan, &mut writer));
        }
        all.extend(plan.set_stage(Stage::Done));
        let lines: Vec<String> = all
            .iter()
            .map(|update| serde_json::to_string(update).unwrap())
            .collect();
        expect![[r#"
            {"sessionUpdate":"plan","entries":[{"content":"Plan the task","priority":"medium","status":"in_progress"},{"content":"Make the change in a private clone","priority":"medium","status":"pending"},{"content":"Run the tests and store the proof","priority":"medium","status":"pending"}]}
            {"sessionUpdate":"plan","entries":[{"content":"Plan the task","priority":"medium","status":"completed"},{"content":"Fix it","priority":"medium","status":"in_progress"},{"content":"Run the tests and store the proof","priority":"medium","status":"pending"}]}
            {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"codex started\n"}}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."}}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\n\n"}}
            {"sessionUpdate":"plan","entries":[{"content":"Plan the task","priority":"medium","status":"completed"},{"content":"Fix it","priority":"medium","status":"completed"},{"content":"Run the tests and store the proof","priority":"medium","status":"in_progress"}]}
            {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"running the tests\n"}}
            {"sessionUpdate":"tool_call","toolCallId":"turn-2-1","title":"tests failed: 2 passed, 1 failed, 0 errors in 0.2 s","kind":"execute","status":"failed"}
            {"sessionUpdate":"plan","entries":[{"content":"Plan the task","priority":"medium","status":"completed"},{"content":"Fix it","priority":"medium","status":"in_progress"},{"content":"Run the tests and store the proof","priority":"medium","status":"pending"}]}
            {"sessionUpdate":"tool_call","toolCallId":"turn-2-2","title":"correction 1 of 3: the tests failed","kind":"think","status":"completed"}
            {"sessionUpdate":"tool_call","toolCallId":"turn-2-3","title":"tests passed: 2 passed, 0 failed, 0 errors in 0.2 s","kind":"execute","status":"completed"}
            {"sessionUpdate":"plan","entries":[{"content":"Plan the task","priority":"medium","status":"completed"},{"content":"Fix it","priority":"medium","status":"completed"},{"content":"Run the tests and store the proof","priority":"medium","status":"completed"}]}"#]].assert_eq(&lines.join("\n"));
    }
}
