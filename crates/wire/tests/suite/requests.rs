//! Requests keep their meaning: what an API can carry of a request is what comes back from its JSON.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass_wire::*;

use super::arbitrary;

/// The route by which a request would come to a server.
pub(super) fn route(dialect: Dialect, request: &ModelRequest) -> Route {
    Route::parse(&dialect.path(request)).unwrap()
}

/// To the JSON of an API and back.
pub(super) fn there_and_back(dialect: Dialect, request: &ModelRequest) -> ModelRequest {
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
    fn what_an_api_carries_comes_back(dialect in arbitrary::dialect(), request in arbitrary::request()) {
        let carried = dialect.adapt_request(&request);
        prop_assert_eq!(&there_and_back(dialect, &request), &carried, "{}", dialect);
    }

    #[test]
    fn carrying_twice_changes_nothing(dialect in arbitrary::dialect(), request in arbitrary::request()) {
        let carried = dialect.adapt_request(&request);
        prop_assert_eq!(dialect.adapt_request(&carried), carried);
    }
}

/// What two APIs both carry survives the way from one to the other and home again.
fn check_pair(home: Dialect, abroad: Dialect, request: &ModelRequest) -> Result<(), TestCaseError> {
    let at_home = home.adapt_request(request);
    let back = there_and_back(home, &there_and_back(abroad, &at_home));
    let expected = home.adapt_request(&abroad.adapt_request(&at_home));
    prop_assert_eq!(&back, &expected);
    // The heart of it is lost by no pair.
    prop_assert_eq!(heart(&back), heart(&at_home));
    Ok(())
}

/// What every API carries: the words of user and assistant, the calls with their results, and the tools by name.
fn heart(request: &ModelRequest) -> Vec<String> {
    let mut heart = Vec::new();
    for message in request
        .messages
        .iter()
        .filter(|m| !matches!(m.role, Role::System | Role::Developer))
    {
        for part in &message.parts {
            match part {
                Part::ToolCall(call) => heart.push(format!(
                    "call {} {} {}",
                    call.id,
                    call.name,
                    call.input_object()
                )),
                Part::ToolResult(result) => {
                    heart.push(format!("result {} {}", result.call_id, result.text()))
                }
                _ => {}
            }
        }
        heart.push(message.text());
    }
    heart.retain(|line| !line.is_empty());
    heart.extend(request.tools.iter().filter_map(|tool| match tool {
        ToolDefinition::Hosted(_) => None,
        tool => tool.name().map(str::to_owned),
    }));
    heart
}

/// Requests whose operator speaks only at the beginning: where he may speak later differs too much to count.
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
    fn chat_by_way_of_messages(request in plain()) {
        check_pair(Dialect::Chat, Dialect::Messages, &request)?;
    }

    #[test]
    fn responses_by_way_of_chat(request in plain()) {
        check_pair(Dialect::Responses, Dialect::Chat, &request)?;
    }

    #[test]
    fn gemini_by_way_of_ollama(request in plain()) {
        check_pair(Dialect::Gemini, Dialect::Ollama, &request)?;
    }
}
