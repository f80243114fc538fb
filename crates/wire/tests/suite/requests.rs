//! Requests keep their meaning: parsing the rendered JSON gives what the API supports of the request.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass_wire::*;

use super::arbitrary;

/// Returns the route of a request at a server.
pub(super) fn route(dialect: Dialect, request: &ModelRequest) -> Route {
    Route::parse(&dialect.path(request)).unwrap()
}

/// Renders a request for an API and parses it again.
pub(super) fn round_trip(dialect: Dialect, request: &ModelRequest) -> ModelRequest {
    let body = dialect.render_request(request);
    let parsed = route(dialect, request).parse_request(&body);
    parsed.unwrap_or_else(|e| panic!("{dialect}: {e}\n{}", String::from_utf8_lossy(&body)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn adapted_request_round_trips(dialect in arbitrary::dialect(), request in arbitrary::request()) {
        let adapted = dialect.adapt_request(&request);
        prop_assert_eq!(&round_trip(dialect, &request), &adapted, "{}", dialect);
    }

    #[test]
    fn adapting_twice_changes_nothing(dialect in arbitrary::dialect(), request in arbitrary::request()) {
        let adapted = dialect.adapt_request(&request);
        prop_assert_eq!(dialect.adapt_request(&adapted), adapted);
    }
}

/// Checks that what two APIs both support survives a round trip through both of them.
fn check_pair(
    source: Dialect,
    target: Dialect,
    request: &ModelRequest,
) -> Result<(), TestCaseError> {
    let adapted = source.adapt_request(request);
    let back = round_trip(source, &round_trip(target, &adapted));
    let expected = source.adapt_request(&target.adapt_request(&adapted));
    prop_assert_eq!(&back, &expected);
    // No pair loses the essentials.
    prop_assert_eq!(essentials(&back), essentials(&adapted));
    Ok(())
}

/// Returns what every API supports: the text of user and assistant, the calls with their results, and the
/// tools by name. Messages of one role in a row count as one, because an API may join them: calls and results, then texts.
fn essentials(request: &ModelRequest) -> Vec<String> {
    let mut essentials = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut role = None;
    for message in request
        .messages
        .iter()
        .filter(|m| !matches!(m.role, Role::System | Role::Developer))
    {
        let calls = message.parts.iter().filter_map(call_or_result);
        let calls: Vec<String> = calls.collect();
        let text = message.text();
        if calls.is_empty() && text.is_empty() {
            continue;
        }
        if role.replace(message.role) != Some(message.role) {
            essentials.push(std::mem::take(&mut texts).join("\n\n"));
        }
        essentials.extend(calls);
        texts.extend(Some(text).filter(|text| !text.is_empty()));
    }
    essentials.push(texts.join("\n\n"));
    essentials.retain(|line| !line.is_empty());
    essentials.extend(request.tools.iter().filter_map(|tool| match tool {
        ToolDefinition::Hosted(_) => None,
        tool => tool.name().map(str::to_owned),
    }));
    essentials
}

fn call_or_result(part: &Part) -> Option<String> {
    match part {
        Part::ToolCall(call) => Some(format!(
            "call {} {} {}",
            call.id,
            call.name,
            call.input_object()
        )),
        Part::ToolResult(result) => Some(format!("result {} {}", result.call_id, result.text())),
        _ => None,
    }
}

/// Requests with system messages only at the start: the APIs differ too much in where later ones are allowed.
fn plain() -> impl Strategy<Value = ModelRequest> {
    arbitrary::request().prop_map(|mut request| {
        request
            .messages
            .retain(|m| !matches!(m.role, Role::System | Role::Developer));
        request
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn chat_round_trips_through_messages(request in plain()) {
        check_pair(Dialect::Chat, Dialect::Messages, &request)?;
    }

    #[test]
    fn responses_round_trips_through_chat(request in plain()) {
        check_pair(Dialect::Responses, Dialect::Chat, &request)?;
    }

    #[test]
    fn gemini_round_trips_through_ollama(request in plain()) {
        check_pair(Dialect::Gemini, Dialect::Ollama, &request)?;
    }
}
