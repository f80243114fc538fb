//! Turns that exceed their budget.

use serde_json::json;

use super::harness::{Api, ModelFixture, end, scripted};

fn endless() -> serde_json::Value {
    json!([{ "answer": [{ "read_file": { "path": "notes.txt" } }], "or_more": true }])
}

#[tokio::test]
async fn p26_endless_tool_loop_ends_at_each_budget() {
    let prices = json!({ "cost_budget_usd": 0.0009, "input_usd_per_mtok": 3.0, "output_usd_per_mtok": 15.0 });
    let table = [
        (
            json!({ "token_budget": 200 }),
            2,
            "BudgetExceeded (permanent): not finished after 220 tokens of 200",
        ),
        (
            prices,
            2,
            "BudgetExceeded (permanent): not finished after $0.0009 of $0.0009",
        ),
    ];
    for (extra, requests, expected) in table {
        let model = scripted(endless()).await;
        let fixture = ModelFixture::new(Api::Ollama, &model.url(), extra).await;
        let events = fixture.ask("Go on and on.").await;
        assert!(end(&events).starts_with(expected), "{}", end(&events));
        assert_eq!(
            model.requests().len(),
            requests,
            "{expected}: checked before each call"
        );
    }
}

#[tokio::test]
async fn p26_hanging_model_ends_at_the_timeout() {
    let model = scripted(json!([{ "fault": "hang" }])).await;
    let fixture = ModelFixture::new(Api::Ollama, &model.url(), json!({ "timeout_secs": 1 })).await;
    let events = fixture.ask("Go on and on.").await;
    assert!(end(&events).starts_with("Timeout"), "{}", end(&events));
}
