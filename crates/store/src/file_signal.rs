//! Tells other processes that the file has new events.
//!
//! SQLite itself does not. After a commit a process sets the times of the file, and others watch them with inotify. The
//! file is not opened for this: closing any descriptor of it would release SQLite's locks.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, inotify, utimensat};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The signal of one file.
#[derive(Debug, Clone)]
pub(crate) struct FileSignal(Arc<Path>);

impl FileSignal {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path.into())
    }

    /// Wakes the processes that watch the file.
    pub(crate) fn notify(&self) {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        // Only a change of both times is reported as a change of the attributes. A write reports the content.
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        // Others then find the events by polling.
        if let Err(error) = utimensat(CWD, &*self.0, &times, AtFlags::empty()) {
            tracing::debug!(%error, "other processes were not notified");
        }
    }

    /// Starts to watch the file. Returns `None` if the system has no more watches.
    pub(crate) fn watch(&self) -> Option<FileWatch> {
        let watch = FileWatch::new(&self.0);
        watch
            .inspect_err(|error| tracing::debug!(%error, "the file cannot be watched"))
            .ok()
    }
}

/// A watch of one file.
#[derive(Debug)]
pub(crate) struct FileWatch(AsyncFd<OwnedFd>);

impl FileWatch {
    #[expect(
        deprecated,
        reason = "the new function is unsafe because a type may return another descriptor each time; `OwnedFd` does not"
    )]
    fn new(path: &Path) -> io::Result<Self> {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let events = inotify::init(flags)?;
        inotify::add_watch(&events, path, inotify::WatchFlags::ATTRIB)?;
        Ok(Self(AsyncFd::with_interest(events, Interest::READABLE)?))
    }

    /// Waits until the file was signalled since the last call.
    pub(crate) async fn next(&self) -> io::Result<()> {
        // Enough for all that waits: the kernel merges equal events, and their content does not matter.
        let mut events = [0_u8; 4096];
        loop {
            let mut ready = self.0.readable().await?;
            let read = ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut events)?));
            if let Ok(read) = read {
                return read.map(drop);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn signal_wakes_a_watch() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let signal = FileSignal::new(file.path().to_owned());
        let watch = signal.watch().unwrap();
        for _ in 0..3 {
            signal.notify();
            signal.notify();
            let woken = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
            woken.unwrap().unwrap();
        }
    }
}
