//! Whole runs against models behind endpoints.

use goodarm_record::ending::Ending;
use goodarm_record::view::Overview;
use serde_json::{Value, json};

use crate::job_folder::{JobFolder, is_good};
use goodarm_testing::{Action, Request, Server};

fn job(url: &str, rest: &str) -> String {
    format!(
        r#"
candidates = "answers.jsonl"
budget = 60000
unit = "tokens"
delta = 0.1
concurrency = 2
[[verifiers]]
name = "judge"
kind = "llm"
url = "{url}/v1"
model = "m"
prompt = "Is {{{{ answer }}}} right?"
threshold = 0.7
{rest}
"#
    )
}

/// What a run comes to, and how many requests it made.
fn run(
    script: impl Fn(&Request) -> Action + Send + Sync + 'static,
    rest: &str,
) -> (Overview, usize) {
    let server = Server::with(script);
    let place = JobFolder::new(9);
    place.write("job.toml", &job(&server.url(""), rest));
    let (ending, summary) = place.run();
    place.assert_clean();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    for line in place.certified() {
        assert!(line.contains("right"), "a wrong answer was certified: {line}");
    }
    (summary, server.request_count())
}

/// A judge that says yes to a right answer with this probability.
fn weighed(seen: &Request, yes: f64) -> Action {
    let is_right = seen.body.contains("Is right right");
    let yes: f64 = if is_right { yes } else { 0.1 };
    let top = json!([
        {"token": "Yes", "logprob": yes.ln()}, {"token": "No", "logprob": (1.0 - yes).ln()},
    ]);
    let place = json!({"token": "Yes", "logprob": yes.ln(), "top_logprobs": top});
    let logprobs = json!({"content": [place]});
    chat(json!({"message": {"content": "Yes"}, "finish_reason": "length", "logprobs": logprobs}))
}

fn chat(choice: Value) -> Action {
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 1});
    Action::Json(json!({"choices": [choice], "usage": usage}))
}

#[test]
fn one_call_an_answer_is_enough_where_the_probability_of_yes_is_given() {
    let (summary, requests) = run(|seen| weighed(seen, 0.8), "parse = \"logprobs\"");
    assert_eq!(summary.certified, (0..9).filter(|&index| is_good(index)).count());
    assert_eq!(summary.calls, 9);
    // The first calls ask twice.
    assert!((12..=14).contains(&requests), "{requests}");
    assert_eq!(summary.money.spent.to_string(), (21 * requests).to_string());
    assert_eq!(summary.money.overruns, 0);
}

#[test]
fn what_the_margin_may_hide_is_not_certified() {
    let (summary, _) = run(|seen| weighed(seen, 0.71), "parse = \"logprobs\"\nmargin = 0.02");
    assert_eq!((summary.certified, summary.rejected), (0, 9));
}

#[test]
fn a_prompt_above_its_declared_length_is_paid_and_recorded() {
    let yes = |_: &Request| chat(json!({"message": {"content": "No"}, "finish_reason": "stop"}));
    let (summary, _) = run(yes, "max_tokens = 5\ninput_tokens_max = 10");
    assert_eq!(summary.money.overruns, summary.calls);
    let (summary, _) = run(yes, "max_tokens = 5\ninput_tokens_max = 20");
    assert_eq!(summary.money.overruns, 0);
}

/// A minute of calls at nothing each would be tens of thousands.
#[test]
fn the_budget_keeps_the_ceilings_of_a_server_that_counts_no_tokens_with_a_warning() {
    let answer = |seen: &Request, usage: &Value| {
        let text = if seen.body.contains("Is right right") { "Yes" } else { "No" };
        let choice = json!({"message": {"content": text}, "finish_reason": "stop"});
        Action::Json(json!({"choices": [choice], "usage": usage}))
    };
    for (usage, words) in [
        (json!({"prompt_tokens": 0, "completion_tokens": 0}), "0 for a prompt of at least 1."),
        (json!({"prompt_tokens": 9, "completion_tokens": 0}), "0 for a reply of at least 1."),
        (json!({"prompt_tokens": 9, "completion_tokens": 9}), "9 for a reply of at most 5."),
        (
            json!({"prompt_tokens": 9999, "completion_tokens": 1}),
            "9999 for a prompt of at most 271.",
        ),
    ] {
        let (summary, _) = run(move |seen| answer(seen, &usage), "max_tokens = 5");
        // 15 bytes of a prompt, 256 for what the server adds, and 5 of the reply.
        assert_eq!(summary.money.possible.to_string(), (276 * summary.calls).to_string());
        assert!(summary.money.spent < summary.money.possible);
        assert_eq!(summary.money.overruns, 0);
        let said = summary.notes.iter().filter(|note| note.contains(words)).count();
        assert_eq!(said, 1, "{:?}", summary.notes);
        assert_eq!(summary.doubt, None);
    }
}
