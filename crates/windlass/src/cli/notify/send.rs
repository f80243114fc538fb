//! Sends a notification on one channel.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::{Backoff, Clock, ExposeSecret, SecretString, SystemClock, escape_control};
use windlass_sandbox::ExitReason;
use windlass_tasks::{Channel, Notification, NotificationEnd};

use super::sign::signature;
use crate::config::{Config, NotifySettings};
use crate::user_program::{UserProgram, run_as_user};

/// Time limits of the desktop's program and of the configured command.
const DESKTOP: Duration = Duration::from_secs(15);
const COMMAND: Duration = Duration::from_secs(25);
/// Delays between tries.
const RETRIES: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_secs(15 * 60));
/// A notification that is older is dropped.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Sends notifications on the configured channels.
#[derive(Debug, Clone)]
pub(in super::super) struct Notifier {
    settings: NotifySettings,
    secret: Option<SecretString>,
    /// Where the programs are started.
    cwd: PathBuf,
    retries: Backoff,
}

impl Notifier {
    /// Returns `None` if no channel is configured. Fails if the secret is named but not set.
    pub(in super::super) fn new(config: &Config) -> Result<Option<Self>, String> {
        let settings = config.notify.clone();
        let secret = match &settings.secret_env {
            Some(name) => Some(config.secret(name).ok_or_else(|| {
                format!("notify.secret_env: {name} is not set: set it, or remove the key")
            })?),
            None => None,
        };
        let notifier = Self {
            settings,
            secret,
            cwd: config.root().to_owned(),
            retries: RETRIES,
        };
        Ok((!notifier.channels().is_empty()).then_some(notifier))
    }

    /// Returns the configured channels.
    pub(in super::super) fn channels(&self) -> Vec<Channel> {
        let NotifySettings {
            desktop,
            webhook,
            command,
            ..
        } = &self.settings;
        let is_set = [
            (Channel::Desktop, *desktop),
            (Channel::Webhook, webhook.is_some()),
            (Channel::Command, command.is_some()),
        ];
        let set = is_set.into_iter().filter(|(_, is_set)| *is_set);
        set.map(|(channel, _)| channel).collect()
    }

    /// Sends a notification, and returns the outcome.
    pub(in super::super) async fn deliver(&self, notification: &Notification) -> NotificationEnd {
        let age = SystemClock::new().now().0;
        let age = age.saturating_sub(notification.created_at.0);
        let is_old = age > u64::try_from(MAX_AGE.as_millis()).unwrap_or(u64::MAX);
        if is_old {
            let error = notification.error.clone();
            let error = error.unwrap_or_else(|| "it was not sent in time".to_owned());
            return NotificationEnd::Dropped { error };
        }
        let id = notification.id.to_string();
        match self
            .send(notification.channel, &id, &notification.body)
            .await
        {
            Ok(()) => NotificationEnd::Sent,
            Err(error) => NotificationEnd::Retry {
                error,
                after: self.retries.delay(notification.tries.saturating_sub(1)),
            },
        }
    }

    /// Sends a message on one channel, or returns the reason why it was not sent.
    pub(super) async fn send(
        &self,
        channel: Channel,
        id: &str,
        body: &Value,
    ) -> Result<(), String> {
        match channel {
            Channel::Desktop => self.desktop(body).await,
            Channel::Webhook => self.webhook(id, body).await,
            Channel::Command => self.command(id, body).await,
            _ => Err("this version does not know the channel".to_owned()),
        }
    }

    async fn desktop(&self, body: &Value) -> Result<(), String> {
        let text = |name: &str| {
            let text = body[name].as_str().unwrap_or_default();
            // Desktops read the text as markup.
            let text = escape_control(text).replace('&', "&amp;");
            OsString::from(text.replace('<', "&lt;").replace('>', "&gt;"))
        };
        let urgency = match body["event"].as_str() {
            Some("landed" | "test") => "--urgency=normal",
            _ => "--urgency=critical",
        };
        let args = vec![
            "--app-name=Windlass".into(),
            urgency.into(),
            "--".into(),
            text("title"),
            text("details"),
        ];
        self.run("notify-send".into(), args, Vec::new(), DESKTOP)
            .await
    }

    async fn command(&self, id: &str, body: &Value) -> Result<(), String> {
        let mut words = self.settings.command.iter().flatten().map(OsString::from);
        let program = words.next().unwrap_or_default();
        let input = with_id(id, body).to_string().into_bytes();
        self.run(program, words.collect(), input, COMMAND).await
    }

    async fn run(
        &self,
        program: OsString,
        args: Vec<OsString>,
        input: Vec<u8>,
        deadline: Duration,
    ) -> Result<(), String> {
        let name = program.to_string_lossy().into_owned();
        let program = UserProgram {
            program,
            args,
            cwd: &self.cwd,
            variables: &[],
            input,
            deadline,
        };
        let output = run_as_user(program).await?;
        if output.exit.reason == ExitReason::Deadline {
            return Err(format!(
                "{name} did not end within {} s",
                deadline.as_secs()
            ));
        }
        if output.exit.success() {
            return Ok(());
        }
        let stderr = output.stderr.text();
        let words = stderr.lines().find(|line| !line.trim().is_empty());
        Err(match words {
            Some(words) => format!("{name} failed: {}", words.trim()),
            None => format!("{name} exited with {}", output.exit.code),
        })
    }

    async fn webhook(&self, id: &str, body: &Value) -> Result<(), String> {
        let address = self.settings.webhook.as_deref().unwrap_or_default();
        let body = with_id(id, body).to_string();
        let timestamp = SystemClock::new().now().0 / 1000;
        let mut headers = vec![
            ("x-windlass-id", id.to_owned()),
            ("x-windlass-timestamp", timestamp.to_string()),
        ];
        if let Some(secret) = &self.secret {
            let secret = secret.expose_secret().as_bytes();
            headers.push(("x-windlass-signature", signature(secret, timestamp, &body)));
        }
        windlass_agents::http::post_json(address, &headers, body).await
    }
}

/// Adds the id, by which a receiver recognizes a repeated request.
fn with_id(id: &str, body: &Value) -> Value {
    let mut body = body.clone();
    body["id"] = json!(id);
    body
}
