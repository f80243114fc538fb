//! Turns that may spend only so much.

use serde_json::json;

use super::world::{Api, Desk, end, scripted};

fn for_ever() -> serde_json::Value {
    json!([{ "answer": [{ "read_file": { "path": "notes.txt" } }], "or_more": true }])
}

#[tokio::test]
async fn p26_a_model_that_never_stops_is_stopped() {
    let prices = json!({ "cost_budget_usd": 0.0009, "input_usd_per_mtok": 3.0, "output_usd_per_mtok": 15.0 });
    let table = [
        (
            json!({ "max_steps": 3 }),
            3,
            "BudgetExceeded (lasting): not finished after 3 steps",
        ),
        (
            json!({ "token_budget": 200 }),
            2,
            "BudgetExceeded (lasting): not finished after 220 tokens of 200",
        ),
        (
            prices,
            2,
            "BudgetExceeded (lasting): not finished after $0.0009 of $0.0009",
        ),
    ];
    for (more, requests, said) in table {
        let model = scripted(for_ever()).await;
        let desk = Desk::new(Api::Ollama, &model.url(), more).await;
        let events = desk.ask("Go on and on.").await;
        assert!(end(&events).starts_with(said), "{}", end(&events));
        assert_eq!(
            model.requests().len(),
            requests,
            "{said}: looked at before each call"
        );
    }
}

#[tokio::test]
async fn p26_time_runs_out() {
    let model = scripted(json!([{ "fault": "hang" }])).await;
    let desk = Desk::new(Api::Ollama, &model.url(), json!({ "timeout_secs": 1 })).await;
    let events = desk.ask("Go on and on.").await;
    assert!(end(&events).starts_with("Timeout"), "{}", end(&events));
}
