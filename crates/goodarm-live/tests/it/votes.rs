//! Majorities that single draws of a solver imply: one price, one threshold, several claims.

use goodarm_live::job::Job;
use serde_json::Value;

use crate::job_folder::JobFolder;

/// A solver that agrees with right answers, as a command.
fn place(keys: &str) -> JobFolder {
    let place = JobFolder::new(6);
    place.write(
        "job.toml",
        &format!(
            "candidates = \"answers.jsonl\"\nbudget = 300\ndelta = 0.1\n\
             [[verifiers]]\nname = \"solver\"\nkind = \"command\"\n{keys}\n\
             shell = 'read line; case \"$line\" in *right*) echo 1;; *) echo 0;; esac'\n"
        ),
    );
    place
}

fn threshold(keys: &str) -> f64 {
    place(keys).good_job().terms.verifiers[0].threshold
}

#[test]
fn both_claims_are_stated_for_the_price_of_single_draws() {
    let place = place("threshold = 0.5\nscores = \"binary\"\nvotes = [1, 5]");
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!(overview.certified, 4);
    assert_eq!(overview.money.spent.to_string(), overview.calls.to_string(), "one draw a call");
    let claims = [
        "one draw agrees with probability at least 0.5",
        "the majority of 5 draws agrees with probability at least 0.5",
    ];
    assert_eq!(overview.verifiers[0].claims, claims);
    assert!(claims.iter().all(|claim| overview.promise.contains(claim)), "{}", overview.promise);
    let line: Value = serde_json::from_str(&place.certified()[0]).expect("JSON");
    assert_eq!(line["goodarm"]["evidence"][0]["claims"], serde_json::json!(claims));
    // Of another list the run knows nothing.
    let job = place.read("job.toml");
    place.write("job.toml", &job.replace("[1, 5]", "[1, 7]"));
    let refused = place.resume().expect_err("another claim").to_string();
    assert!(refused.contains("votes"), "{refused}");
}

/// Below a half the majority is harder to reach than one draw, above it one draw is.
#[test]
fn the_threshold_is_that_of_the_hardest_claim() {
    let of = |threshold_wanted: f64, votes: &str| {
        threshold(&format!("threshold = {threshold_wanted}\nscores = \"binary\"\nvotes = {votes}"))
    };
    assert!((of(0.5, "[1, 5]") - 0.5).abs() < 1e-12);
    assert!((of(0.8, "[1, 5]") - 0.8).abs() < 1e-12);
    // 0.8 for the majority of five alone: 0.6731… of a single draw.
    let five = of(0.8, "[5]");
    assert!((0.673..0.674).contains(&five), "{five}");
    let five = of(0.3, "[1, 5]");
    assert!((0.38..0.40).contains(&five), "{five}");
}

#[test]
fn votes_that_make_no_sense_are_refused() {
    for (keys, expected) in [
        ("threshold = 0.5\nvotes = [1, 5]", "needs scores = \"binary\""),
        ("threshold = 0.5\nscores = \"binary\"\nvotes = [1, 4]", "4 is not an odd number"),
        ("threshold = 0.5\nscores = \"binary\"\nvotes = [101]", "101 is not an odd number"),
        ("threshold = 0.5\nscores = \"binary\"\nvotes = []", "at least one size"),
        ("threshold = 0.5\nscores = \"binary\"\nvotes = 5", "a number needs an llm solver"),
        ("scores = \"binary\"\nvotes = [1, 5]", "the mean score to be reached is needed"),
    ] {
        let error = place(keys).job().map(|_: Job| ()).expect_err(keys).to_string();
        assert!(error.contains(expected), "{keys}: {error}");
    }
}
