//! Scripts and servers for the tests.

use windlass_gateway::script::Script;
use windlass_gateway::{RunningModel, ScriptedModel};

/// Parses a script from its JSON.
#[track_caller]
pub(crate) fn script(json: &str) -> Script {
    Script::parse(json, "test").unwrap()
}

/// Serves a model on any free port.
pub(crate) async fn serve(json: &str) -> RunningModel {
    let listen = "127.0.0.1:0".parse().unwrap();
    ScriptedModel::start(script(json), listen).await.unwrap()
}
