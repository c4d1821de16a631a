use serde_json::json;

use super::*;

#[track_caller]
fn check(message: Value, finish: &str, expected: &Said) {
    let body = json!({
        "id": "x", "object": "chat.completion", "choices": [
            {"index": 0, "message": message, "finish_reason": finish, "logprobs": null},
        ],
    });
    let completion: Completion = serde_json::from_value(body).unwrap();
    assert_eq!(completion.into_said(), *expected);
}

fn text(text: &str, is_cut: bool) -> Said {
    Said::Text { text: text.into(), is_cut }
}

#[test]
fn texts_in_all_shapes() {
    check(json!({"content": "Yes"}), "stop", &text("Yes", false));
    check(json!({"content": "Ye"}), "length", &text("Ye", true));
    let parts = json!({"content": [{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}]});
    check(parts, "stop", &text("Yes", false));
    check(json!({"content": ""}), "stop", &text("", false));
    check(json!({"content": null}), "length", &text("", true));
    check(json!({"content": "<think>\nno?\n</think>\n\nYes"}), "stop", &text("Yes", false));
    check(json!({"content": "<think> no"}), "length", &text("<think> no", true));
    check(json!({"content": "Yes", "refusal": null}), "stop", &text("Yes", false));
}

#[test]
fn no_text_at_all() {
    for message in [json!({"content": null}), json!({}), json!(null), json!({"content": 5})] {
        check(message, "stop", &Said::Nothing("the reply has no text"));
    }
    let empty: Completion = serde_json::from_str("{}").unwrap();
    assert_eq!(empty.into_said(), Said::Nothing("the reply has no choices"));
}

#[test]
fn refusals() {
    let refused = |why: &str| Said::Refused(why.into());
    check(json!({"content": null, "refusal": "I won't"}), "stop", &refused("I won't"));
    let filtered = refused("a content filter stopped the reply");
    check(json!({"content": "So"}), "content_filter", &filtered);
    let error: Completion =
        serde_json::from_value(json!({"error": {"message": "busy", "code": 502}})).unwrap();
    assert_eq!(error.into_said(), refused("busy"));
}

#[test]
fn usage_is_believed_only_if_it_is_numbers() {
    let usage = |usage: Value| {
        let completion: Completion = serde_json::from_value(json!({"usage": usage})).unwrap();
        let usage = completion.usage();
        (usage.input_tokens, usage.output_tokens)
    };
    let right = json!({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15});
    assert_eq!(usage(right), (Some(12), Some(3)));
    assert_eq!(usage(json!({"prompt_tokens": -1, "completion_tokens": 3})), (None, Some(3)));
    assert_eq!(usage(json!({"prompt_tokens": "12"})), (None, None));
    assert_eq!(usage(json!(null)), (None, None));
    assert_eq!(usage(json!([1, 2])), (None, None));
}
