//! The projects of a monorepo that a change touches.

use std::path::Path;

use windlass_tasks::{Baseline, SubProject, TestedPart, WorkingCopy};

use super::Judge;
use super::files::ChangedFile;
use crate::error::Result;
use crate::test_runner::{combined, sub_projects, touched};

impl Judge {
    /// Returns the projects in a checkout of the base that can be tested separately. A configured command
    /// decides what it tests.
    pub(super) fn projects(&self, root: &Path, command: &[String]) -> Vec<SubProject> {
        let configured = self.tests.settings.command.as_ref();
        if configured.is_some_and(|command| !command.is_empty()) {
            return Vec::new();
        }
        sub_projects(root, command)
    }

    /// Returns the projects that the files belong to, with their dependents, and tests them on the base. `None` if the
    /// change is tested as a whole.
    pub(super) async fn touched_part(
        &self,
        copy: &dyn WorkingCopy,
        files: &[ChangedFile],
        whole: &Baseline,
    ) -> Result<Option<TestedPart>> {
        let paths: Vec<&str> = files.iter().map(ChangedFile::path).collect();
        let Some(projects) = touched(&whole.projects, &paths) else {
            return Ok(None);
        };
        let commands: Vec<&[String]> = projects.iter().map(|one| one.command.as_slice()).collect();
        let baseline = self.test_base(copy, &combined(&commands)).await?;
        // What cannot run alone is tested with the others, as it was before the change.
        if baseline.obstacle.is_some() {
            return Ok(None);
        }
        Ok(Some(TestedPart {
            projects: projects.iter().map(|one| one.dir.clone()).collect(),
            baseline,
        }))
    }
}
