//! Final answers in texts, and JSON schemas for answers.

use std::path::Path;

use goodarm_core::{ArmId, AttributeId};
use goodarm_data::answer::{ExtractName, Extractor, same};
use goodarm_data::candidates::Candidates;
use goodarm_live::service::{CallContext, Dispatch, Local as _, Reply, Verdict};
use goodarm_live::services::check::{Check, CheckKeys, CheckName};

use crate::halves;

/// Extracts final answers from two texts: none is empty, and equality is symmetric.
pub(crate) fn extract(bytes: &[u8]) {
    let Some((one, other)) = halves(bytes) else { return };
    for (name, pattern, pointer) in EXTRACTORS {
        let extractor = Extractor::new(name, pattern, pointer).expect("an extractor of ours");
        let answers = [one, other].map(|text| extractor.extract(text));
        assert!(answers.iter().flatten().all(|answer| !answer.is_empty()));
        if let [Some(one), Some(other)] = answers {
            assert_eq!(same(&one, &other), same(&other, &one));
            assert!(same(&one, &one), "{one:?} is the same as itself");
        }
        let _ = extractor.extract_cut(one);
    }
}

const EXTRACTORS: [(ExtractName, Option<&str>, Option<&str>); 7] = [
    (ExtractName::Gsm8k, None, None),
    (ExtractName::Boxed, None, None),
    (ExtractName::LastNumber, None, None),
    (ExtractName::FirstWord, None, None),
    (ExtractName::Whole, None, None),
    (ExtractName::Json, None, Some("/answer")),
    (ExtractName::Regex, Some(r"(?i)answer:\s*(\S+)"), None),
];

/// The bytes are a schema, a line of three dashes, and an answer, which is accepted or rejected.
pub(crate) fn validate(bytes: &[u8]) {
    let Some((schema, answer)) = halves(bytes) else { return };
    let Ok(schema @ serde_json::Value::Object(_)) = serde_json::from_str(schema) else { return };
    let keys = CheckKeys {
        check: Some(CheckName::JsonSchema),
        schema: Some(schema),
        ..CheckKeys::default()
    };
    let Ok(check) = Check::new(&keys, Path::new(".")) else { return };
    let line = serde_json::json!({"id": "a", "answer": answer}).to_string();
    let candidates = Candidates::from_text(&line, "an answer", "id").expect("a candidate of ours");
    let place =
        CallContext { candidates: &candidates, arm: ArmId(0), attribute: AttributeId(0), order: 0 };
    let Dispatch::Now(Reply { verdict, .. }) = check.answer(place) else {
        panic!("it is checked here")
    };
    assert!(matches!(verdict, Verdict::Score(0.0 | 1.0)), "{verdict:?}");
}
