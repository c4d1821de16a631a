use super::*;

#[track_caller]
fn check(output: &str, score: Option<f64>, cost: Option<f64>) {
    let (verdict, said_cost) = read(output, &ExpectedReply::Score);
    match (verdict, score) {
        (Verdict::Score(found), Some(score)) => {
            assert!((found - score).abs() < 1e-12, "{output:?}: {found}");
        }
        (Verdict::Failed(CountedFailure::Unreadable, _), None) => {}
        (verdict, _) => panic!("{output:?}: {verdict:?}"),
    }
    let cost = cost.map(|cost| Cost::of_price(cost).unwrap());
    assert_eq!(said_cost, cost, "{output:?}");
}

#[test]
fn what_programs_write() {
    check("0.5\n", Some(0.5), None);
    check("thinking\n\n 1 \n\n", Some(1.0), None);
    check(".5", Some(0.5), None);
    check("1.", Some(1.0), None);
    check("+1", Some(1.0), None);
    check("-0.5", Some(-0.5), None);
    check("true", Some(1.0), None);
    check("log\n{\"score\": 0.8, \"cost\": 0.01, \"reason\": \"fine\"}", Some(0.8), Some(0.01));
    check("{\n  \"score\": false\n}\n", Some(0.0), None);
    check("{\"score\": 1, \"cost\": -1}", Some(1.0), None);
    check("{\"score\": 1, \"cost\": \"much\"}", Some(1.0), None);
}

#[test]
fn what_is_no_score() {
    for output in ["", "\n\n", "yes", "nan", "inf", "1e999", "[1]", "\"1\"", "null", "{}", "1 2"] {
        check(output, None, None);
    }
    check("{\"score\": \"0.5\"}", None, None);
    check("{\"score\": null, \"cost\": 2}", None, Some(2.0));
    check("0.5\ndone", None, None);
}

#[test]
fn a_candidate_is_one_line() {
    assert_eq!(input_line("{\"a\":1}"), "{\"a\":1}\n");
    assert_eq!(input_line("{\n\"a\": \"x\\ny\"\r\n}\n"), "{ \"a\": \"x\\ny\"  }\n");
}
