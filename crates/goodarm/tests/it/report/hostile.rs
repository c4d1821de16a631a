//! Texts that want to be more than texts.

use std::fs;

use serde_json::json;

use super::run::{Answer, Question, Run};
use crate::tool::{goodarm, message};

/// If it runs, it shows in the title of the page.
const BREAKOUTS: [&str; 12] = [
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "\"><img src=x onerror=\"document.title='owned'\">",
    "'><svg onload=document.title='owned'>",
    "<!--<script>",
    "]]></noscript></style></title><iframe srcdoc='<script>parent.document.title=1</script>'>",
    "javascript:document.title='owned'",
    "{{script}}{{overview}}{{answers}}<b>",
    "\\u003cscript\\u003edocument.title='owned'\\u003c/script\\u003e<",
    "\u{2028}\u{2029}</script\n><script >document.title='owned'</script >",
    "&lt;script&gt;document.title='owned'&lt;/script&gt;<",
    "</SCRIPT><sCrIpT>document.title='owned'</ScRiPt>",
];

/// Texts that lie about their direction, hide things or are broken.
pub(crate) const BIDI: &str = "access \u{202e}nigol\u{202c} \u{2066}x\u{2069} \u{200f}<";
const CONTROLS: &str = "<nul \u{0} bell \u{7} escape \u{1b}[31m delete \u{7f} next line \u{85} tag \u{e0041} mark \u{feff} hyphen \u{ad}";

/// Every breakout as id, question, answer, field name and reply, in verifiers' names, and some more.
pub(crate) fn run(name: &str) -> Run {
    Run::new(name, &answers(), NAMES)
}

/// All of them as answers.
pub(crate) fn answers() -> Vec<Answer> {
    let mut answers: Vec<Answer> = BREAKOUTS
        .iter()
        .enumerate()
        .map(|(index, text)| Answer {
            object: json!({"id": format!("{index} {text}"), "question": text, "answer": format!("7 {text}"), *text: {"deep": [text]}}),
            approval: 9,
        })
        .collect();
    let big =
        format!("8 <b>{}</script><script>document.title='owned'</script>", "A<".repeat(500_000));
    let more = [
        json!({"id": BIDI, "question": BIDI, "answer": format!("1 {BIDI}")}),
        json!({"id": "it's \"quoted\" \\ & <co>", "question": CONTROLS, "answer": CONTROLS}),
        json!({"id": "big", "question": "Say something long.", "answer": big}),
        json!({"id": "proto", "__proto__": {"x": 1}, "constructor": "c", "hasOwnProperty": null, "answer": "3"}),
        json!({"id": "emoji 👩‍👩‍👧‍👦 é", "question": "Z̷̡̛͔a̸l̶g̵o̴?", "answer": "4 👍🏽 שלום مرحبا"}),
        json!({"id": "bare"}),
    ];
    answers.extend(more.map(|mut object| {
        if object.get("answer").is_none() {
            object["answer"] = json!("5");
        }
        Answer { object, approval: 9 }
    }));
    answers
}

/// All of them as questions, with answers that are as bad.
pub(crate) fn questions() -> Vec<Question> {
    let question = |(index, text): (usize, &&str)| Question {
        object: json!({"id": format!("{index} {text}"), "question": text, *text: {"deep": [text]}}),
        solutions: (0..10)
            .map(|draw| if draw < 8 { format!("7 {text}") } else { format!("{draw} other {text}") })
            .collect(),
    };
    let mut questions: Vec<Question> = BREAKOUTS.iter().enumerate().map(question).collect();
    let big =
        format!("8 <b>{}</script><script>document.title='owned'</script>", "A<".repeat(9_000));
    for (id, text) in [("bidi", BIDI), ("big", &big), ("controls", CONTROLS)] {
        let object = json!({"id": id, "question": text});
        questions.push(Question { object, solutions: vec![format!("1 {text}"); 10] });
    }
    questions
}

/// Of a run with questions.
pub(crate) fn asked(name: &str) -> Run {
    let generator = "<svg onload=document.title='owned'>\u{202e}maker";
    Run::asked(name, &questions(), [NAMES[0], NAMES[1], generator])
}

/// Of verifiers.
pub(crate) const NAMES: [&str; 2] = [
    "<img src=x onerror=document.title='owned'>",
    "judge</script><script>document.title='owned'</script>\u{202e}",
];

/// Half a character, which JSON can spell and no text can hold, is refused at the door: no report
/// ever meets one.
#[test]
fn half_characters_are_refused_at_the_door() {
    let run = Run::ordinary("surrogate");
    let answers = run.root().join("answers.jsonl");
    let line = r#"{"id": "half", "answer": "1 \ud800"}"#;
    fs::write(&answers, fs::read_to_string(&answers).unwrap() + line).unwrap();
    let (job, output) = (run.root().join("job.toml"), run.root().join("again"));
    let told = goodarm(&["run", job.to_str().unwrap(), "--output", output.to_str().unwrap()]);
    assert_eq!(told.status.code(), Some(2));
    assert!(message(&told).contains("line 61"), "{}", message(&told));
}
