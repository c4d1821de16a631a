use serde_json::json;

use super::*;

#[track_caller]
fn check(message: Value, finish: &str, expected: &ChatContent) {
    let body = json!({
        "id": "x", "object": "chat.completion", "choices": [
            {"index": 0, "message": message, "finish_reason": finish, "logprobs": null},
        ],
    });
    assert_eq!(read_completion(body).said, *expected);
}

fn text(text: &str, is_cut: bool) -> ChatContent {
    ChatContent::Text { text: text.into(), is_cut }
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
        check(message, "stop", &ChatContent::Nothing("the reply has no text"));
    }
    assert_eq!(read_completion(json!({})).said, ChatContent::Nothing("the reply has no choices"));
}

#[test]
fn refusals() {
    let refused = |why: &str| ChatContent::Refused(why.into());
    check(json!({"content": null, "refusal": "I won't"}), "stop", &refused("I won't"));
    let filtered = refused("a content filter stopped the reply");
    check(json!({"content": "So"}), "content_filter", &filtered);
    let error = read_completion(json!({"error": {"message": "busy", "code": 502}}));
    assert_eq!(error.said, refused("busy"));
}

#[test]
fn usage_is_believed_only_if_it_is_numbers() {
    let usage = |usage: Value| {
        let usage = read_completion(json!({"usage": usage})).usage;
        (usage.input_tokens, usage.output_tokens)
    };
    let right = json!({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15});
    assert_eq!(usage(right), (Some(12), Some(3)));
    assert_eq!(usage(json!({"prompt_tokens": -1, "completion_tokens": 3})), (None, Some(3)));
    assert_eq!(usage(json!({"prompt_tokens": "12"})), (None, None));
    assert_eq!(usage(json!(null)), (None, None));
    assert_eq!(usage(json!([1, 2])), (None, None));
}

#[test]
fn messages_of_anthropic() {
    let say = |content: Value, stop: &str| {
        read_message(&json!({"type": "message", "content": content, "stop_reason": stop})).said
    };
    let parts = json!([{"type": "thinking", "thinking": "no?"}, {"type": "text", "text": "Yes"}]);
    assert_eq!(say(parts.clone(), "end_turn"), text("Yes", false));
    assert_eq!(say(parts, "max_tokens"), text("Yes", true));
    assert_eq!(say(json!([]), "max_tokens"), text("", true));
    assert_eq!(say(json!([]), "end_turn"), ChatContent::Nothing("the reply has no text"));
    assert!(matches!(say(json!([]), "refusal"), ChatContent::Refused(_)));
    let error = json!({"type": "error", "error": {"type": "api_error", "message": "broken"}});
    assert_eq!(read_message(&error).said, ChatContent::Refused("broken".into()));
}

#[test]
fn cached_tokens_of_anthropic_are_tokens() {
    let usage = |usage: Value| {
        let usage = read_message(&json!({"usage": usage})).usage;
        (usage.input_tokens, usage.output_tokens)
    };
    let cached = json!({
        "input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300,
        "output_tokens": 7,
    });
    assert_eq!(usage(cached), (Some(325), Some(7)));
    assert_eq!(usage(json!({"input_tokens": 5, "cache_read_input_tokens": null})), (Some(5), None));
    assert_eq!(usage(json!({"input_tokens": 5, "cache_read_input_tokens": -1})), (None, None));
}

#[test]
fn a_reply_of_the_other_api_says_which_key_to_write() {
    let of = |answered: ChatResponse| match answered.said {
        ChatContent::Nothing(reason) => reason,
        said => panic!("{said:?}"),
    };
    let theirs = json!({"type": "message", "content": [{"type": "text", "text": "Yes"}]});
    assert!(of(read_completion(theirs)).contains("write api = \"anthropic\""));
    let ours = json!({"choices": [{"message": {"content": "Yes"}}]});
    assert!(of(read_message(&ours)).contains("leave api = \"anthropic\" out"));
}
