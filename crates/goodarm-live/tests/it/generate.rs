//! One answer for each question, from an endpoint.

use std::path::Path;
use std::time::Duration;

use goodarm_live::generate::{GenerateError, Generated, Request, generate};
use goodarm_live::services::llm::{LlmKeys, Temperature};
use goodarm_record::control::Control;

use crate::place::Place;
use crate::server::{Server, completion};

fn answers(place: &Place, model: &LlmKeys, out: &Path) -> Result<Generated, GenerateError> {
    let questions = place.path().join("answers.jsonl");
    let request = Request {
        questions: &questions,
        id_field: "id",
        model,
        timeout: Duration::from_secs(60),
        answer_field: "reply",
        out,
        concurrency: 2,
    };
    generate(&request, &Control::default(), |_, _| {})
}

fn model(url: &str, temperature: f64) -> LlmKeys {
    LlmKeys {
        url: Some(url.into()),
        model: Some("m".into()),
        prompt: Some("{{ question }}".into()),
        temperature: Some(Temperature::Degrees(temperature)),
        ..LlmKeys::default()
    }
}

/// Nothing is scored here, so that answers need not be fresh samples.
#[test]
fn any_temperature_will_do() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("one");
    let server = runtime.block_on(Server::start([completion("Paris")]));
    let place = Place::new(3);
    for (temperature, name) in [(0.7, "warm.jsonl"), (0.0, "cold.jsonl")] {
        let out = place.path().join(name);
        let model = model(&server.url("/v1"), temperature);
        let generated = answers(&place, &model, &out).expect("answers");
        assert_eq!((generated.answer_count, generated.failure_count), (3, 0));
        assert_eq!(place.read(name).matches("\"reply\":\"Paris\"").count(), 3);
    }
    assert_eq!(server.request_count(), 6);
}

#[test]
fn questions_are_spread_over_several_addresses() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("one");
    let servers = [0, 1].map(|_| runtime.block_on(Server::start([completion("Paris")])));
    let place = Place::new(8);
    let urls = servers.iter().map(|server| server.url("/v1")).collect();
    let model = LlmKeys { url: None, urls: Some(urls), ..model("", 0.7) };
    let generated = answers(&place, &model, &place.path().join("out.jsonl")).expect("answers");
    assert_eq!(generated.answer_count, 8);
    let counts = servers.each_ref().map(Server::request_count);
    assert!(counts[0] + counts[1] == 8 && counts[0] >= 2 && counts[1] >= 2, "{counts:?}");
}

#[test]
fn a_field_that_is_missing_inside_a_field_is_said_before_anything_is_sent() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("one");
    let server = runtime.block_on(Server::start([completion("Paris")]));
    let place = Place::new(3);
    let prompt = Some("{{ question.text }}".into());
    let model = LlmKeys { prompt, ..model(&server.url("/v1"), 0.7) };
    let error = answers(&place, &model, &place.path().join("out.jsonl")).expect_err("it is wrong");
    assert!(
        error.to_string().contains("\"question.text\", which candidate \"q0\" lacks"),
        "{error}"
    );
    assert_eq!(server.request_count(), 0);
}

#[test]
fn all_that_is_wrong_with_the_endpoint_is_said_a_line_each() {
    let place = Place::new(3);
    let model = LlmKeys { model: None, ..model("nowhere", -1.0) };
    let error = answers(&place, &model, &place.path().join("out.jsonl")).expect_err("it is wrong");
    let text = error.to_string();
    let keys: Vec<&str> = text.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(keys, ["url", "model", "temperature"], "{text}");
}
