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
    if let Some(mode) = requested.mode {
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

async fn set_mode(
    connection: &Connection,
    session: &str,
    offered: &OfferedOptions,
    mode: &str,
) -> Result<()> {
    let modes = offered
        .modes
        .iter()
        .flat_map(|modes| &modes.available_modes);
    let names: Vec<String> = modes.map(|mode| mode.id.0.to_string()).collect();
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
