//! A clock that moves only when it is advanced.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use windlass_core::{Clock, Timestamp};

/// Time under a test's control: a sleep ends when [`advance`](Self::advance) reaches its deadline.
#[derive(Debug)]
pub struct FakeClock {
    time: watch::Sender<Time>,
}

#[derive(Debug, Clone, Copy)]
struct Time {
    wall: Timestamp,
    elapsed: Duration,
}

impl FakeClock {
    /// Creates a clock that shows this time.
    pub fn at(wall: Timestamp) -> Self {
        let elapsed = Duration::ZERO;
        Self {
            time: watch::Sender::new(Time { wall, elapsed }),
        }
    }

    /// Advances the time.
    pub fn advance(&self, by: Duration) {
        self.time.send_modify(|time| {
            time.elapsed += by;
            time.wall.0 += u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        });
    }

    /// Sets only the wall clock, as a user or a time server may do. Sleeps are not affected.
    pub fn jump_to(&self, wall: Timestamp) {
        self.time.send_modify(|time| time.wall = wall);
    }

    /// Returns the number of sleeping tasks.
    pub fn sleepers(&self) -> usize {
        self.time.receiver_count()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        self.time.borrow().wall
    }

    fn elapsed(&self) -> Duration {
        self.time.borrow().elapsed
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut time = self.time.subscribe();
        let until = self.elapsed() + duration;
        Box::pin(async move {
            // An error means that the clock was dropped, so the time cannot advance any more.
            let _ = time.wait_for(|time| time.elapsed >= until).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleep_ends_by_advance_and_not_by_jump() {
        let clock = FakeClock::at(Timestamp(1_000));
        let sleep = tokio::spawn(clock.sleep(Duration::from_secs(10)));
        clock.jump_to(Timestamp(9_000_000));
        clock.advance(Duration::from_secs(9));
        tokio::task::yield_now().await;
        assert!(!sleep.is_finished());
        clock.advance(Duration::from_secs(1));
        sleep.await.unwrap();
        assert_eq!(clock.now(), Timestamp(9_010_000));
        assert_eq!(clock.elapsed(), Duration::from_secs(10));
    }
}
