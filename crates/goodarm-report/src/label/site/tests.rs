use goodarm_record::card_queue::CardStatus;
use serde_json::{Value, json};

use super::*;

/// Two cards, and a disk that may be full.
struct TwoCards {
    said: Vec<CardReply>,
    is_full: bool,
}

impl CardQueue for TwoCards {
    fn next(&mut self, _: &str) -> Result<Option<Card>, CardQueueError> {
        let field = |name: &str, text: &str| Field { name: name.into(), text: text.into() };
        Ok(["a", "b"].get(self.said.len()).map(|id| Card {
            key: (*id).into(),
            id: (*id).into(),
            asks: "Right?".into(),
            wanted: ReplyForm::Verdict,
            fields: vec![field("answer", &"é".repeat(FIELD_BYTES_MAX))],
            evidence: vec![field("judge", "0.9")],
        }))
    }

    fn preview(&mut self, labeller: &str, _: usize) -> Result<Vec<Card>, CardQueueError> {
        Ok(self.next(labeller)?.into_iter().collect())
    }

    fn statuses(&mut self, _: &str) -> Result<Vec<CardStatus>, CardQueueError> {
        Ok(Vec::new())
    }

    fn is_of_run(&self, _: &str) -> bool {
        false
    }

    fn submit_all(
        &mut self,
        _: &str,
        said: Vec<(String, CardReply)>,
    ) -> Result<(), CardQueueError> {
        if self.is_full {
            return Err(CardQueueError::Folder("no space left".into()));
        }
        if said[0].0 != ["a", "b"][self.said.len()] {
            return Err(CardQueueError::Unknown(said[0].0.clone()));
        }
        self.said.extend(said.into_iter().map(|(_, said)| said));
        Ok(())
    }

    fn can_undo(&self, _: &str) -> bool {
        !self.said.is_empty()
    }

    fn undo(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError> {
        self.said.pop().map_or(Ok(None), |_| self.next(labeller))
    }

    fn progress(&mut self) -> Result<QueueProgress, CardQueueError> {
        Ok(QueueProgress { done: self.said.len(), all: 2, ..QueueProgress::default() })
    }
}

fn site(is_full: bool) -> LabelSite {
    let about = LabelPageInfo {
        folder: "run".into(),
        by: "me".into(),
        command: "goodarm label run".into(),
    };
    LabelSite::new(Box::new(TwoCards { said: Vec::new(), is_full }), about)
}

fn handle(site: &LabelSite, route: LabelRoute, body: &Value) -> Value {
    let answer = site.handle(route, body.to_string().as_bytes()).expect("it is answered");
    serde_json::from_str(&answer).expect("JSON")
}

#[test]
fn each_path_is_one_thing_or_nothing_and_none_is_a_link() {
    let route =
        |may_change, path, query| LabelSite::route(&SiteRequest { path, query, may_change });
    assert_eq!(route(true, "state", None), Some(LabelRoute::State));
    assert_eq!(route(true, "say", None), Some(LabelRoute::Say));
    assert_eq!(route(true, "begin", None), Some(LabelRoute::Begin));
    assert_eq!(route(false, "begin", None), None);
    assert_eq!(route(true, "undo", None), Some(LabelRoute::Undo));
    for path in ["state", "say", "undo", "card", "", "say/", "../say"] {
        assert_eq!(route(false, path, None), None, "{path}");
        assert_eq!(route(true, path, Some("x")), None, "{path}");
    }
    assert_eq!(route(true, "", None), None);
}

#[test]
fn evidence_comes_only_behind_the_label_and_an_undo_brings_the_card_back() {
    let site = site(false);
    let hello = handle(&site, LabelRoute::State, &json!({"by": null}));
    assert_eq!((&hello["by"], &hello["card"]), (&json!("me"), &Value::Null));
    let first = handle(&site, LabelRoute::State, &json!({"by": "me"}));
    assert_eq!(first["card"]["key"], "a");
    assert!(!first.to_string().contains("judge"), "evidence would lead");
    let field = &first["card"]["fields"][0];
    assert_eq!(field["left_out"], FIELD_BYTES_MAX);
    assert_eq!(field["text"].as_str().map(str::len), Some(FIELD_BYTES_MAX));
    let say = json!({"by": "me", "key": "a", "said": "right"});
    let second = handle(&site, LabelRoute::Say, &say);
    assert_eq!((&second["card"]["key"], &second["standing"]["done"]), (&json!("b"), &json!(1)));
    assert_eq!(second["last"]["evidence"][0]["text"], "0.9");
    let doubled = handle(&site, LabelRoute::Say, &say);
    assert!(doubled["refused"].as_str().is_some_and(|it| it.contains("\"a\"")), "{doubled}");
    assert_eq!(doubled["card"]["key"], "b", "the card whose turn it is");
    assert_eq!(handle(&site, LabelRoute::Undo, &json!({"by": "me"}))["card"]["key"], "a");
    let none = handle(&site, LabelRoute::Undo, &json!({"by": "me"}));
    assert!(none["refused"].as_str().is_some_and(|it| it.contains("taken back")), "{none}");
}

#[test]
fn what_is_not_on_the_disk_is_said_to_have_failed() {
    let full = site(true);
    let said = handle(&full, LabelRoute::Say, &json!({"by": "me", "key": "a", "said": "right"}));
    assert_eq!(said, json!({"failed": "no space left", "command": "goodarm label run"}));
    let site = site(false);
    assert!(site.close().is_some());
    let closed = handle(&site, LabelRoute::State, &json!({"by": "me"}));
    assert_eq!(closed["failed"], "the page has been closed");
}

#[test]
fn what_our_page_does_not_send_gets_nothing() {
    let site = site(false);
    for (route, body) in [
        (LabelRoute::State, "".to_owned()),
        (LabelRoute::State, "[]".to_owned()),
        (LabelRoute::State, "\u{0}".to_owned()),
        (LabelRoute::State, json!({"by": "me", "more": 1}).to_string()),
        (LabelRoute::Say, json!({"by": "me", "key": "a"}).to_string()),
        (LabelRoute::Say, json!({"by": null, "key": "a", "said": "right"}).to_string()),
        (LabelRoute::Say, json!({"by": "me", "key": "a", "said": "perhaps"}).to_string()),
        (LabelRoute::Say, "[".repeat(100_000)),
        (LabelRoute::Undo, json!({}).to_string()),
    ] {
        assert_eq!(site.handle(route, body.as_bytes()), None, "{route:?}");
    }
    let long =
        json!({"by": "me", "key": "a", "said": {"answer": "x".repeat(ANSWER_BYTES_MAX + 1)}});
    assert!(
        handle(&site, LabelRoute::Say, &long)["refused"]
            .as_str()
            .is_some_and(|it| it.contains("1 MiB"))
    );
    assert_eq!(handle(&site, LabelRoute::State, &json!({"by": "me"}))["standing"]["done"], 0);
}
