//! Configures a session after it was created: mode, model, options.

use std::collections::BTreeMap;

use agent_client_protocol::UntypedMessage;
use agent_client_protocol::v1::schema::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOptions, SessionModeState, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use serde_json::json;
use windlass_core::{Error, Result};

use super::connection::Connection;

/// The modes and options that an agent offers for a session.
#[derive(Debug, Default)]
pub(super) struct OfferedOptions {
    pub(super) modes: Option<SessionModeState>,
    pub(super) options: Vec<SessionConfigOption>,
}

/// The requested mode, model and options.
#[derive(Debug)]
pub(super) struct RequestedOptions<'a> {
    /// The mode.
    pub(super) mode: Option<&'a str>,
    /// Whether the session may not write. A mode of the agent for that is preferred to `mode`.
    pub(super) is_read_only: bool,
    /// The model, if it is set per session.
    pub(super) model: Option<&'a str>,
    /// Further options, by their IDs.
    pub(super) options: &'a BTreeMap<String, String>,
}

/// Applies the requested options to the session. An option that the agent does not offer is an error.
pub(super) async fn apply(
    connection: &Connection,
    session: &str,
    offered: &OfferedOptions,
    requested: &RequestedOptions<'_>,
) -> Result<()> {
    let has_own_mode = requested.is_read_only && set_read_only(connection, session, offered).await;
    if let Some(mode) = requested.mode.filter(|_| !has_own_mode) {
        set_mode(connection, session, offered, mode).await?;
    }
    if let Some(model) = requested.model {
        set_model(connection, session, offered, model).await?;
    }
    for (id, value) in requested.options {
        let option = offered.options.iter().find(|option| *option.id.0 == **id);
        let option = option.ok_or_else(|| {
            let ids = offered.options.iter().map(|option| option.id.0.to_string());
            unknown(&format!("options.{id}"), ids)
        })?;
        set(connection, session, option, value).await?;
    }
    Ok(())
}

/// The names of modes in which an agent changes no files, the strictest first.
const READ_ONLY_MODES: &[&str] = &["read-only", "ask", "plan"];

/// Selects the agent's own mode for sessions that may not write, if it has one. The sandbox enforces it anyway, so an
/// agent that refuses the mode is used without it.
async fn set_read_only(connection: &Connection, session: &str, offered: &OfferedOptions) -> bool {
    let Some(mode) = read_only_mode(offered) else {
        return false;
    };
    let set = set_mode(connection, session, offered, &mode).await;
    if let Err(error) = &set {
        tracing::warn!(%error, mode, "the agent refused its read-only mode");
    }
    set.is_ok()
}

/// Returns the offered mode in which the agent changes no files. Some agents identify modes by an address that ends
/// with the name.
fn read_only_mode(offered: &OfferedOptions) -> Option<String> {
    let option = by_category(offered, &SessionConfigOptionCategory::Mode);
    let select = option.and_then(|option| match &option.kind {
        SessionConfigKind::Select(select) => Some(values(&select.options)),
        _ => None,
    });
    let names: Vec<String> = mode_names(offered)
        .chain(select.into_iter().flatten())
        .collect();
    let is_named = |name: &&String, wanted: &str| name.rsplit('#').next() == Some(wanted);
    let mut found = READ_ONLY_MODES
        .iter()
        .filter_map(|wanted| names.iter().find(|name| is_named(name, wanted)));
    found.next().cloned()
}

fn mode_names(offered: &OfferedOptions) -> impl Iterator<Item = String> {
    let modes = offered.modes.iter();
    let modes = modes.flat_map(|modes| &modes.available_modes);
    modes.map(|mode| mode.id.0.to_string())
}

async fn set_mode(
    connection: &Connection,
    session: &str,
    offered: &OfferedOptions,
    mode: &str,
) -> Result<()> {
    let names: Vec<String> = mode_names(offered).collect();
    if offered
        .modes
        .as_ref()
        .is_some_and(|modes| *modes.current_mode_id.0 == *mode)
    {
        return Ok(());
    }
    if names.iter().any(|name| name == mode) {
        let request = SetSessionModeRequest::new(session.to_owned(), mode.to_owned());
        return connection.request(request).await.map(drop);
    }
    match by_category(offered, &SessionConfigOptionCategory::Mode) {
        Some(option) => set(connection, session, option, mode).await,
        None => Err(unknown("mode", names.into_iter())),
    }
}

async fn set_model(
    connection: &Connection,
    session: &str,
    offered: &OfferedOptions,
    model: &str,
) -> Result<()> {
    match by_category(offered, &SessionConfigOptionCategory::Model) {
        Some(option) => set(connection, session, option, model).await,
        // Older than config options, and still the only way for some agents.
        None => {
            let params = json!({ "sessionId": session, "modelId": model });
            let request = UntypedMessage::new("session/set_model", params);
            let request = request.map_err(|error| Error::InvalidInput(error.to_string()))?;
            connection.request(request).await.map(drop)
        }
    }
}

fn by_category<'a>(
    offered: &'a OfferedOptions,
    category: &SessionConfigOptionCategory,
) -> Option<&'a SessionConfigOption> {
    let mut options = offered.options.iter();
    options.find(|option| option.category.as_ref() == Some(category))
}

async fn set(
    connection: &Connection,
    session: &str,
    option: &SessionConfigOption,
    value: &str,
) -> Result<()> {
    let key = format!("options.{}", option.id.0);
    let value = match &option.kind {
        SessionConfigKind::Boolean(_) => {
            let value = value
                .parse()
                .map_err(|_| Error::config(key, "expected true or false"))?;
            SessionConfigOptionValue::Boolean { value }
        }
        SessionConfigKind::Select(select) => {
            let values = values(&select.options);
            if !values.iter().any(|known| known == value) {
                return Err(unknown(&key, values.into_iter()));
            }
            SessionConfigOptionValue::ValueId {
                value: value.to_owned().into(),
            }
        }
        _ => return Err(Error::config(key, "has an unsupported type")),
    };
    let request = SetSessionConfigOptionRequest::new(session.to_owned(), option.id.clone(), value);
    connection.request(request).await.map(drop)
}

fn values(options: &SessionConfigSelectOptions) -> Vec<String> {
    match options {
        SessionConfigSelectOptions::Ungrouped(all) => all
            .iter()
            .map(|option| option.value.0.to_string())
            .collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            let all = groups.iter().flat_map(|group| &group.options);
            all.map(|option| option.value.0.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

fn unknown(key: &str, offered: impl Iterator<Item = String>) -> Error {
    let offered: Vec<String> = offered.take(20).collect();
    let problem = if offered.is_empty() {
        "the agent offers none: remove this setting".to_owned()
    } else {
        format!("expected one of {}", offered.join(", "))
    };
    Error::config(key, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(modes: &[&str], values: &[&str]) -> OfferedOptions {
        let modes: Vec<_> = modes
            .iter()
            .map(|id| json!({ "id": id, "name": id }))
            .collect();
        let modes = json!({ "currentModeId": "default", "availableModes": modes });
        let values: Vec<_> = values
            .iter()
            .map(|value| json!({ "value": value, "name": value }))
            .collect();
        let option = json!({
            "id": "mode", "name": "Mode", "category": "mode", "type": "select",
            "currentValue": "default", "options": values,
        });
        OfferedOptions {
            modes: serde_json::from_value(modes).unwrap(),
            options: vec![serde_json::from_value(option).unwrap()],
        }
    }

    /// The lists are those of the real agents.
    #[test]
    fn mode_of_an_agent_that_changes_no_files_is_found() {
        const SPEC: &str = "https://agentclientprotocol.com/protocol/session-modes";
        let plan = format!("{SPEC}#plan");
        let copilot = [
            &format!("{SPEC}#agent"),
            &*plan,
            &format!("{SPEC}#autopilot"),
        ];
        for (modes, values, expected) in [
            (
                &["default", "acceptEdits", "plan", "dontAsk"][..],
                &[][..],
                Some("plan"),
            ),
            (
                &["read-only", "workspace-write", "agent"],
                &[],
                Some("read-only"),
            ),
            (&["default", "autoEdit", "yolo", "plan"], &[], Some("plan")),
            (&["agent", "plan", "ask"], &[], Some("ask")),
            (&[], &["build", "plan"], Some("plan")),
            (&[], &copilot, Some(&*plan)),
            (&["auto", "approve", "planner"], &["a/plan"], None),
        ] {
            let found = read_only_mode(&offered(modes, values));
            assert_eq!(found.as_deref(), expected, "{modes:?} {values:?}");
        }
    }
}
