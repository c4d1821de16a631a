//! A budget bounds what is spent; `calls_max` bounds the calls of verifiers that bill nothing.

use goodarm_record::ending::Ending;

use crate::job_folder::JobFolder;

/// Answers that are neither good nor bad, so that there is always something to ask, and a verifier that
/// notes its calls and bills `cost`.
fn place(keys: &str, cost: &str) -> JobFolder {
    let place = JobFolder::new(6);
    write_job(&place, keys, cost);
    place
}

fn write_job(place: &JobFolder, keys: &str, cost: &str) {
    let job = format!(
        "candidates = \"answers.jsonl\"\nbudget = 2\ndelta = 0.05\nunit = \"dollars\"\n\
         stop_when_hopeless = false\nconcurrency = 4\n{keys}\n\
         [[verifiers]]\nname = \"answered\"\nkind = \"check\"\ncheck = \"regex\"\npattern = \".\"\n\
         [[verifiers]]\nname = \"judge\"\nkind = \"command\"\nthreshold = 0.5\n\
         metered = {{ reported = true, ceiling = 0.01 }}\n\
         shell = 'read line; echo x >> made; echo \"{{\\\"score\\\": 0.5, \\\"cost\\\": {cost}}}\"'\n"
    );
    place.write("job.toml", &job);
}

#[test]
fn a_verifier_that_bills_nothing_is_not_asked_for_ever() {
    let place = place("calls_max = 40", "0");
    let spent = |count| Ending::CallsUsedUp { calls_max: count };
    let (ending, overview) = place.run();
    assert!(ending.to_string().contains("calls_max allows no more than"), "{ending}");
    assert_eq!((ending, place.line_count("made")), (spent(40), 40));
    // Our own checks are not among them.
    assert!(overview.calls > 40, "{}", overview.calls);
    // What earlier processes have asked for counts, and the limit may be raised.
    assert_eq!(place.resume().expect("it continues").0, spent(40));
    assert_eq!(place.line_count("made"), 40);
    write_job(&place, "calls_max = 60", "0");
    assert_eq!(place.resume().expect("it continues").0, spent(60));
    assert_eq!(place.line_count("made"), 60);
    write_job(&place, "calls_max = 50", "0");
    assert_eq!(place.resume().expect("it continues").0, spent(50));
    assert_eq!(place.line_count("made"), 60);
    place.assert_clean();
}

#[test]
fn without_a_limit_there_is_one_by_the_prices() {
    assert_eq!(place("", "0").good_job().calls_max(), 200_000);
    assert_eq!(place("calls_max = 7", "0").good_job().calls_max(), 7);
    let error = place("calls_max = 0", "0").job().err().expect("no calls").to_string();
    assert!(error.contains("calls_max") && error.contains("above 0"), "{error}");
}

/// The budget is gone first.
#[test]
fn a_verifier_that_bills_is_stopped_by_the_budget() {
    let place = place("", "0.05");
    let (ending, _) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert!(place.line_count("made") <= 41, "{}", place.line_count("made"));
}
