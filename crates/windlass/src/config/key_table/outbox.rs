//! Keys of what leaves the machine: pushes, pull requests and notifications.

use super::{KeySpec, settings};
use crate::config::value_type::*;

settings! {
    /// Settings of pushes and pull requests.
    pub struct PublishSettings at "publish." {
        /// The git remote to which a worker pushes the branch of every proved task, such as "origin". Default: branches
        /// are pushed by `windlass task push` only.
        remote: Option<String> as NonEmptyText;
        /// The command that opens a pull request after a push, or "gh" or "glab" for the usual one. `{title}`, `{body}`,
        /// `{body_file}`, `{branch}`, `{base}` and `{remote}` are replaced in its arguments.
        command: Option<Vec<String>> as PublishCommand;
    }
}

settings! {
    /// Settings of notifications.
    pub struct NotifySettings at "notify." {
        /// Whether to show a notification on the desktop, with `notify-send`.
        desktop: bool as Bool = "false";
        /// The address that gets notifications as JSON, by POST.
        webhook: Option<String> as Url, secret;
        /// The variable that holds the secret with which requests to the webhook are signed. It is read from the
        /// environment, or else from a trusted `.env`.
        secret_env: Option<String> as SecretVariable;
        /// The command that gets notifications as JSON on its standard input.
        command: Option<Vec<String>> as CommandWords;
    }
}
