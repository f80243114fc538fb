//! The rules for a new task that can be checked without reading the store.

use windlass_tasks::{ATTEMPT_LIMIT, Dependency, NewTask, StoreError, StoreResult, sorted_labels};

use super::candidates;

/// Maximum number of tasks in one batch.
const MAX_TASKS: usize = 1_000;
/// Maximum number of dependencies of one task.
const MAX_DEPENDENCIES: usize = 1_000;
/// Maximum size of a title and of a description.
const MAX_TITLE_BYTES: usize = 4 << 10;
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Maximum size of an idempotency key.
const MAX_KEY_BYTES: usize = 512;
/// Maximum number of tests that a task names, and the maximum size of a name.
const MAX_TESTS: usize = 100;
const MAX_TEST_BYTES: usize = 1 << 10;
/// Maximum size of the name of a target branch.
const MAX_TARGET_BYTES: usize = 200;

/// Validates tasks without reading the store.
pub(crate) fn check(tasks: &[NewTask]) -> StoreResult<()> {
    if tasks.len() > MAX_TASKS {
        return rejected(format!(
            "{} tasks in one batch; the limit is {MAX_TASKS}",
            tasks.len()
        ));
    }
    for task in tasks {
        check_one(task, tasks.len())?;
        candidates::check(task)?;
    }
    match cycle(tasks) {
        Some(at) => rejected(format!(
            "the dependencies form a cycle through {:?}: remove one of them",
            tasks[at].title
        )),
        None => Ok(()),
    }
}

fn rejected<T>(why: String) -> StoreResult<T> {
    Err(StoreError::Refused(why))
}

fn check_one(task: &NewTask, batch: usize) -> StoreResult<()> {
    check_texts(task)?;
    if let Err(problem) = sorted_labels(&task.needs) {
        return rejected(format!("what {:?} needs: {problem}", task.title));
    }
    check_numbers(task)?;
    check_dependencies(task, batch)
}

fn check_texts(task: &NewTask) -> StoreResult<()> {
    let title = &task.title;
    if title.trim().is_empty() {
        return rejected("a task needs a title".to_owned());
    }
    if title.len() > MAX_TITLE_BYTES {
        return rejected(format!(
            "the title has {} bytes; the limit is {MAX_TITLE_BYTES}: move text to the description",
            title.len()
        ));
    }
    if task.description.len() > MAX_TEXT_BYTES {
        return rejected(format!(
            "the description of {title:?} has {} bytes; the limit is {MAX_TEXT_BYTES}",
            task.description.len()
        ));
    }
    let has_long_name = || task.tests.iter().any(|name| name.len() > MAX_TEST_BYTES);
    if task.tests.len() > MAX_TESTS || has_long_name() {
        return rejected(format!(
            "{title:?} may name {MAX_TESTS} tests of {MAX_TEST_BYTES} bytes each"
        ));
    }
    if let Some(target) = &task.target
        && (target.is_empty() || target.len() > MAX_TARGET_BYTES)
    {
        return rejected(format!(
            "the target branch of {title:?} must have 1 to {MAX_TARGET_BYTES} bytes"
        ));
    }
    if task
        .idempotency_key
        .as_ref()
        .is_some_and(|key| key.is_empty() || key.len() > MAX_KEY_BYTES)
    {
        return rejected(format!(
            "an idempotency key must have 1 to {MAX_KEY_BYTES} bytes"
        ));
    }
    Ok(())
}

fn check_numbers(task: &NewTask) -> StoreResult<()> {
    let title = &task.title;
    if task.priority > 4 {
        return rejected(format!(
            "the priority of {title:?} is {}; it must be 0 (highest) to 4",
            task.priority
        ));
    }
    if !(1..=15).contains(&task.workflow_step) {
        return rejected(format!(
            "the workflow step of {title:?} is {}; it must be 1 to 15",
            task.workflow_step
        ));
    }
    if !(1..=ATTEMPT_LIMIT).contains(&task.max_attempts) {
        return rejected(format!(
            "the attempt limit of {title:?} is {}; it must be 1 to {ATTEMPT_LIMIT}",
            task.max_attempts
        ));
    }
    Ok(())
}

fn check_dependencies(task: &NewTask, batch: usize) -> StoreResult<()> {
    let title = &task.title;
    if task.dependencies.len() > MAX_DEPENDENCIES {
        return rejected(format!(
            "{title:?} depends on more than {MAX_DEPENDENCIES} tasks"
        ));
    }
    for dependency in &task.dependencies {
        if let Dependency::Sibling(at) = dependency
            && *at >= batch
        {
            return rejected(format!(
                "{title:?} depends on index {at} of a batch with the last index {}",
                batch - 1
            ));
        }
    }
    Ok(())
}

/// Returns the index of a task that depends on itself through its siblings. Stored tasks cannot depend on new
/// ones, so no cycle leads through them.
fn cycle(tasks: &[NewTask]) -> Option<usize> {
    // Topological sort: counts the unmet siblings of each task and removes tasks without any.
    let siblings = |task: &NewTask| -> Vec<usize> {
        let sibling = |dependency: &Dependency| match dependency {
            Dependency::Sibling(at) => Some(*at),
            Dependency::Task(_) => None,
        };
        let mut siblings: Vec<usize> = task.dependencies.iter().filter_map(sibling).collect();
        siblings.sort_unstable();
        siblings.dedup();
        siblings
    };
    let mut unmet: Vec<usize> = Vec::with_capacity(tasks.len());
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        let siblings = siblings(task);
        unmet.push(siblings.len());
        for on in siblings {
            dependents[on].push(at);
        }
    }
    let mut ready: Vec<usize> = (0..tasks.len()).filter(|at| unmet[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        for waiting in std::mem::take(&mut dependents[at]) {
            unmet[waiting] -= 1;
            if unmet[waiting] == 0 {
                ready.push(waiting);
            }
        }
    }
    unmet.iter().position(|left| *left > 0)
}

#[cfg(test)]
mod tests {
    use super::{check, cycle};
    use windlass_tasks::{Dependency, NewTask, ProjectId};

    fn task_after(siblings: &[usize]) -> NewTask {
        let mut task = NewTask::new(ProjectId::from(1), "a task");
        task.dependencies = siblings.iter().map(|at| Dependency::Sibling(*at)).collect();
        task
    }

    #[test]
    fn cycle_is_found_and_diamond_is_accepted() {
        let diamond = [
            task_after(&[]),
            task_after(&[0]),
            task_after(&[0, 0]),
            task_after(&[1, 2]),
        ];
        assert_eq!(cycle(&diamond), None);
        assert_eq!(cycle(&[task_after(&[0])]), Some(0));
        let cyclic = [
            task_after(&[]),
            task_after(&[0, 3]),
            task_after(&[1]),
            task_after(&[2]),
        ];
        assert_eq!(cycle(&cyclic), Some(1));
        let error = check(&cyclic).unwrap_err().to_string();
        assert!(error.contains("cycle"), "{error}");
    }

    #[test]
    fn invalid_task_is_rejected_with_reason() {
        let with = |change: fn(&mut NewTask)| {
            let mut task = NewTask::new(ProjectId::from(1), "a task");
            change(&mut task);
            check(&[task]).unwrap_err().to_string()
        };
        assert!(with(|task| task.priority = 5).contains("priority"));
        assert!(with(|task| task.workflow_step = 0).contains("workflow step"));
        assert!(with(|task| task.workflow_step = 16).contains("workflow step"));
        for message in [
            with(|task| task.max_attempts = 0),
            with(|task| task.max_attempts = 101),
            with(|task| task.max_attempts = u32::MAX),
        ] {
            assert!(message.contains("it must be 1 to 100"), "{message}");
        }
        assert!(with(|task| task.title = "  ".to_owned()).contains("title"));
        assert!(with(|task| task.dependencies = vec![Dependency::Sibling(1)]).contains("batch"));
        assert!(with(|task| task.description = "x".repeat(2 << 20)).contains("description"));
        assert!(with(|task| task.idempotency_key = Some(String::new())).contains("key"));
        assert!(with(|task| task.needs = vec!["A B".to_owned()]).contains("lowercase"));
        assert_eq!(check(&[NewTask::new(ProjectId::from(1), "a task")]), Ok(()));
    }
}
