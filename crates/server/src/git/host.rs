//! What the program around the server does for it: run git.

use std::fmt;
use std::io;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use windlass_tasks::Project;

use crate::host_ops::HostOpsError;

/// The body of a request.
pub type GitRequestBody = BoxStream<'static, io::Result<Bytes>>;
/// The body of a response. An error means that it is not complete.
pub type GitResponseBody = BoxStream<'static, io::Result<Bytes>>;

/// Runs git for the repositories of projects.
pub trait GitHost: fmt::Debug + Send + Sync {
    /// Runs one step of a service. Dropping the future or the output stops it. After an error of the input it changes
    /// nothing.
    fn serve(&self, request: GitRequest) -> BoxFuture<'_, Result<GitResponseBody, HostOpsError>>;
}

/// One step of a service.
pub struct GitRequest {
    /// The project.
    pub project: Project,
    /// The service.
    pub service: GitService,
    /// The step.
    pub step: GitStep,
    /// The version of the protocol that the client asks for, such as `version=2`.
    pub protocol: Option<String>,
}

/// A service of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitService {
    /// Sends objects: clone and fetch.
    Fetch,
    /// Receives objects and moves refs. The server has read which ones, and allows all of them.
    Push,
}

impl GitService {
    /// Returns git's name of the service.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetch => "git-upload-pack",
            Self::Push => "git-receive-pack",
        }
    }
}

/// A step of a service.
pub enum GitStep {
    /// Lists the refs.
    ListRefs,
    /// Exchanges objects.
    Exchange(GitRequestBody),
}

impl fmt::Debug for GitStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ListRefs => "ListRefs",
            Self::Exchange(_) => "Exchange",
        })
    }
}

impl fmt::Debug for GitRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitRequest")
            .field("project", &self.project.id)
            .field("service", &self.service)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}
