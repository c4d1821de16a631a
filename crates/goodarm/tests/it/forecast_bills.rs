//! Dry runs against real runs: five jobs, each run ten times against a mock model whose bills are known. The mock's
//! answers score as the job's `[expect]` says, so the tests are about money and not about quality.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use goodarm_testing::{Action, Server, TestFolder};
use serde_json::{Value, json};

use crate::tool::{goodarm, message, ok};

const RUNS: u64 = 10;

/// A small random stream, of its own for every call of a run.
struct Draws {
    state: u64,
    run: u64,
}

impl Draws {
    fn at(run: u64, subject: &str, call: u64) -> Self {
        let mix = |sum: u64, byte: u8| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
        };
        let begin = run.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ call;
        Self { state: subject.bytes().fold(begin, mix), run }
    }

    /// A stream that is the same in all calls about a subject in this run.
    fn of(&self, subject: &str) -> Self {
        Self::at(self.run, subject, 0)
    }

    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let high = ((z ^ (z >> 31)) >> 11) as f64;
        high / 9_007_199_254_740_992.0
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let step = (self.uniform() * (high - low + 1) as f64) as u64;
        low + step
    }

    fn coin(&mut self, mean: f64) -> bool {
        self.uniform() < mean
    }

    /// About normal: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Beta(a, b), by Jöhnk's algorithm.
    fn beta(&mut self, a: f64, b: f64) -> f64 {
        loop {
            let (x, y) = (self.uniform().powf(1.0 / a), self.uniform().powf(1.0 / b));
            if x + y <= 1.0 {
                return x / (x + y);
            }
        }
    }
}

/// What the mock replies: the text, and its number of tokens.
type Speech = fn(model: &str, prompt: &str, draws: &mut Draws) -> (String, u64);

/// A server of models that bill a token for about four bytes of the prompt.
fn server(seed: u64, speech: Speech) -> Server {
    let counts: Mutex<BTreeMap<String, u64>> = Mutex::default();
    Server::with(move |request| {
        let body = request.json();
        let model = body["model"].as_str().expect("a model");
        let prompt = body["messages"][0]["content"].as_str().expect("a prompt");
        let subject = format!("{model} {prompt}");
        let count = {
            let mut counts = counts.lock().expect("no thread died");
            let count = counts.entry(subject.clone()).or_default();
            *count += 1;
            *count
        };
        let mut of_text = Draws::at(0, &subject, 0);
        let bytes = u64::try_from(prompt.len()).expect("small");
        let prompt_tokens = bytes * of_text.between(90, 115) / 400 + 7;
        let (text, tokens) = speech(model, prompt, &mut Draws::at(seed, &subject, count));
        Action::Json(json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": tokens},
        }))
    })
}

/// Answers whose text says whether they are good; each has this many more words.
fn answers(count: usize, good: usize, words: fn(usize) -> usize) -> String {
    let mut lines = String::new();
    for index in 0..count {
        let quality = if (index * 7) % count < good { "right" } else { "wrong" };
        let more = "and so it goes on ".repeat(words(index) / 5);
        let line = json!({
            "id": format!("a{index}"),
            "question": format!("What is the answer to number {index}?"),
            "answer": format!("The {quality} one. {more}"),
        });
        let _ = writeln!(lines, "{line}");
    }
    lines
}

/// The mean score of the answer in a prompt. Answers differ as in the simulated sessions.
fn mean_score(model: &str, prompt: &str, [good, bad]: [f64; 2], draws: &Draws) -> f64 {
    let mean = if prompt.contains("The right one") { good } else { bad };
    (mean + 0.05 * draws.of(&format!("{model} {prompt}")).normal()).clamp(0.0, 1.0)
}

/// What was printed, or measured.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: f64,
    median: f64,
    high: f64,
}

impl Range {
    fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Of printed words such as `about 12 … (10 to 14`, the numbers.
    fn read(said: &str, about: &str, unit: &str) -> Self {
        // A printed number, and half of its last digit: it is rounded.
        let number = |text: &str| -> (f64, f64) {
            let text = text.split_whitespace().next().unwrap_or_default();
            let text: String = text.chars().filter(|it| !matches!(it, ',' | ')')).collect();
            let text = text.trim_end_matches('.');
            let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let step = 10.0_f64.powi(-i32::try_from(decimals).expect("few"));
            (text.parse().unwrap_or_else(|_| panic!("{text:?}: {said}")), step / 2.0)
        };
        let (_, after) = said.split_once(about).unwrap_or_else(|| panic!("{about:?}: {said}"));
        let (median, after) = after.split_once(unit).unwrap_or_else(|| panic!("{unit:?}: {said}"));
        let (_, range) = after.split_once('(').unwrap_or_else(|| panic!("no range: {said}"));
        let (low, high) = range.split_once(" to ").unwrap_or_else(|| panic!("no range: {said}"));
        let ((low, below), (median, _), (high, above)) =
            (number(low), number(median), number(high));
        Self { low: low - below, median, high: high + above }
    }
}

/// The middle one, or the mean of the two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

/// Compares the dry run of a job with ten runs. `job` gets the server's address in place of `URL`.
#[expect(clippy::print_stderr, reason = "the numbers that are compared")]
fn compare(name: &str, files: &[(&str, &str)], job: &str, speech: Speech, counted: &str) {
    let place = TestFolder::new(files);
    let (mut certified, mut spent, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let mut said = String::new();
    for seed in 1..=RUNS {
        let server = server(seed, speech);
        place.write("job.toml", &job.replace("URL", &server.url("/v1")));
        let (file, output) = (place.argument("job.toml"), place.argument(&format!("run{seed}")));
        if seed == 1 {
            said = ok(&["run", &file, "--dry-run"]);
        }
        ok(&["run", &file, "--output", &output, "--quiet"]);
        let summary = place.json(&format!("run{seed}/summary.json"));
        notes.push(summary["notes"].clone());
        certified.push(summary["certified"].as_f64().expect("a count"));
        spent.push(amount(&summary["money"]["spent"]));
    }
    let forecast = said.lines().find(|line| line.starts_with("If ")).expect("a forecast");
    eprintln!("{name}: {forecast}\n  certified {certified:?}\n  spent {spent:?}");
    assert!(notes.iter().all(|it| *it == json!([])), "{name}: no warnings, not {notes:?}");
    check(name, Range::read(forecast, ", about ", counted), certified);
    check(name, Range::read(forecast, "for about ", " "), spent);
}

fn amount(value: &Value) -> f64 {
    value.as_str().and_then(|text| text.parse().ok()).expect("an amount")
}

fn check(name: &str, forecast: Range, real: Vec<f64>) {
    let held = real.iter().filter(|&&value| forecast.holds(value)).count();
    assert!(held >= 8, "{name}: {forecast:?} holds {held} of {real:?}");
    let ratio = median(real.clone()) / forecast.median;
    assert!((1.0 / 1.5..=1.5).contains(&ratio), "{name}: {forecast:?} and {real:?}");
}

const HEAD: &str = "candidates = \"answers.jsonl\"\nunit = \"dollars\"\ndelta = 0.05\nconcurrency = 4\n\
    [expect]\ngood = 0.6\ngood_mean = 0.95\nbad_mean = 0.2\n";
const CHEAP: &str = "metered = { input = 0.15, output = 0.60, per = 1000000 }\n";

fn judge(name: &str, prompt: &str, keys: &str) -> String {
    format!(
        "[[verifiers]]\nname = \"{name}\"\nkind = \"llm\"\nurl = \"URL\"\nmodel = \"{name}\"\n\
         prompt = \"{prompt}\"\n{keys}"
    )
}

fn yes_or_no(model: &str, prompt: &str, draws: &mut Draws) -> (String, u64) {
    let mean = mean_score(model, prompt, [0.95, 0.2], draws);
    let word = if draws.coin(mean) { "Yes" } else { "No" };
    (word.to_owned(), draws.between(1, 3))
}

const ASKED: &str = "{{ question }}\\nAnswer: {{ answer }}\\nIs that right? Say yes or no.";

#[test]
fn a_judge_with_short_prompts() {
    let keys = format!("max_tokens = 5\nthreshold = 0.5\n{CHEAP}");
    let job = format!("budget = 0.002\n{HEAD}{}", judge("judge", ASKED, &keys));
    let files = [("answers.jsonl", &*answers(40, 24, |_| 5))];
    compare("short prompts", &files, &job, yes_or_no, " will be certified");
}

#[test]
fn a_judge_with_long_prompts() {
    let keys = format!("max_tokens = 5\nthreshold = 0.5\n{CHEAP}");
    let job = format!("budget = 0.2\n{HEAD}{}", judge("judge", ASKED, &keys));
    let files = [("answers.jsonl", &*answers(30, 18, |index| 800 + 150 * (index % 12)))];
    compare("long prompts", &files, &job, yes_or_no, " will be certified");
}

fn cascade(model: &str, prompt: &str, draws: &mut Draws) -> (String, u64) {
    let (word, tokens) = yes_or_no(model, prompt, draws);
    if model == "cheap" {
        return (word, tokens);
    }
    let score = if word == "Yes" { 10 } else { 0 };
    (format!("I weighed every argument for a while. {score}"), draws.between(40, 90))
}

#[test]
fn a_check_a_cheap_judge_and_an_expensive_one() {
    let check = "[[verifiers]]\nname = \"format\"\nkind = \"check\"\ncheck = \"regex\"\npattern = \"one\"\n";
    let cheap = format!("max_tokens = 5\nthreshold = 0.5\n{CHEAP}");
    let expensive = "parse = \"number\"\nrange = [0, 10]\nscores = \"binary\"\nmax_tokens = 200\n\
        threshold = 0.5\nmetered = { input = 3, output = 15, per = 1000000 }\n";
    let graded =
        "{{ question }}\\nAnswer: {{ answer }}\\nThink, then grade it with a number from 0 to 10.";
    let job = format!(
        "budget = 0.2\n{HEAD}{check}{}{}",
        judge("cheap", ASKED, &cheap),
        judge("expensive", graded, expensive)
    );
    let files = [("answers.jsonl", &*answers(30, 18, |index| 20 + index))];
    compare("cascade", &files, &job, cascade, " will be certified");
}

fn rubric(_: &str, prompt: &str, draws: &mut Draws) -> (String, u64) {
    let mut score = |name: &str| {
        let mean = mean_score(name, prompt, [0.8, 0.3], draws);
        // As in a simulated session: a standard deviation of 0.2 in the middle.
        let concentration = 0.25 / 0.04 - 1.0;
        let score = draws.beta(concentration * mean, concentration * (1.0 - mean));
        (score * 100.0).round() / 100.0
    };
    let reply =
        json!({"clear": score("clear"), "correct": score("correct"), "polite": score("polite")});
    (reply.to_string(), draws.between(24, 36))
}

#[test]
fn a_rubric_with_three_criteria() {
    let criteria: String = ["clear", "correct", "polite"]
        .map(|name| {
            format!("[[verifiers.criteria]]\nname = \"{name}\"\npointer = \"/{name}\"\nthreshold = 0.5\n")
        })
        .concat();
    let asked = "{{ question }}\\nAnswer: {{ answer }}\\nGrade it as JSON with clear, correct and polite, \
                 each from 0 to 1.";
    let keys = format!("parse = \"json\"\nmax_tokens = 80\n{CHEAP}{criteria}");
    let head = HEAD.replace("good_mean = 0.95", "good_mean = 0.8").replace("0.2\n", "0.3\n");
    let job = format!("budget = 0.01\n{head}{}", judge("rubric", asked, &keys));
    let files = [("answers.jsonl", &*answers(24, 14, |_| 30))];
    compare("rubric", &files, &job, rubric, " will be certified");
}

/// The right answer to a question is its number. Some questions are hard, as in a simulated session: a mean of 0.7,
/// and a correlation of 0.4 between answers to one question.
fn solve(model: &str, prompt: &str, draws: &mut Draws) -> (String, u64) {
    let mut of_question = draws.of(prompt);
    let right = match model {
        "generator" => of_question.beta(1.05, 0.45),
        _ => 0.8 + 0.05 * of_question.normal(),
    };
    let number = prompt.split_whitespace().find_map(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let answer = if draws.coin(right) { number } else { number + draws.between(1, 2) };
    (format!("Let me think about it.\n#### {answer}"), draws.between(60, 160))
}

#[test]
fn questions_with_a_generator_and_a_solver() {
    let questions: String = (0..20)
        .map(|index| {
            let question = format!("Which number is {} if you think of it?", 100 + index);
            format!("{}\n", json!({"id": format!("q{index}"), "question": question}))
        })
        .collect();
    let model = "kind = \"llm\"\nurl = \"URL\"\nmax_tokens = 300\nextract = \"gsm8k\"\n\
        prompt = \"{{ question }}\\nThink step by step, and end with #### and the number.\"\n";
    let job = format!(
        "questions = \"questions.jsonl\"\nbudget = 60000\nunit = \"tokens\"\ndelta = 0.05\nconcurrency = 4\n\
         [expect]\ngood = 0.7\ngood_mean = 0.8\nbad_mean = 0.1\n\
         [generator]\nmodel = \"generator\"\n{model}\
         [[verifiers]]\nname = \"solver\"\nrole = \"solver\"\nmodel = \"solver\"\nthreshold = 0.4\n{model}"
    );
    let files = [("questions.jsonl", &*questions)];
    compare("questions", &files, &job, solve, " of 20 questions");
}

/// `goodarm try` measures bills: it prints the key for the job, and a forecast with them.
#[test]
fn a_trial_says_what_to_expect_and_the_job_may_state_it() {
    let keys = format!("max_tokens = 5\nthreshold = 0.5\n{CHEAP}");
    let job = format!("budget = 0.002\n{HEAD}{}", judge("judge", ASKED, &keys));
    let server = server(1, yes_or_no);
    let job = job.replace("URL", &server.url("/v1"));
    let place = TestFolder::new(&[("answers.jsonl", &answers(40, 24, |_| 5)), ("job.toml", &job)]);
    let file = place.argument("job.toml");
    let guessed = ok(&["run", &file, "--dry-run"]);
    assert!(guessed.contains("Bills are guessed from the prompts"), "{guessed}");
    let said = ok(&["try", &file, "-n", "4"]);
    let (_, bill) = said.split_once("metered = { …, expected = ").expect("the key");
    let (bill, _) = bill.split_once(" }").expect("its end");
    assert!((3e-6..2e-5).contains(&bill.parse::<f64>().expect("a bill")), "{said}");
    assert!(said.contains("Bills are as in these calls"), "{said}");
    let tried: Value = serde_json::from_str(&ok(&["try", &file, "--json"])).expect("JSON");
    assert!(tried["expected"]["judge"].is_string(), "{tried}");
    place.write("job.toml", &job.replace("1000000 }", &format!("1000000, expected = {bill} }}")));
    let stated = ok(&["run", &file, "--dry-run"]);
    assert!(stated.contains("Bills are as the job expects them"), "{stated}");
    let plan = ok(&["plan", &file]);
    assert!(plan.ends_with("Bills are as the job expects them.\n"), "{plan}");
    let width = |said: &str| {
        let line = said.lines().find(|line| line.starts_with("If ")).expect("a forecast");
        let Range { low, high, .. } = Range::read(line, ", about ", " will be certified");
        high - low
    };
    assert!(width(&stated) < width(&guessed), "{stated}{guessed}");
    place.write("job.toml", &job.replace("1000000 }", "1000000, expected = 1 }"));
    let refused = message(&goodarm(&["run", &file, "--dry-run"]));
    assert!(refused.contains("expected: 1 is not more than 0 and at most"), "{refused}");
}

/// Two calls are more than 2 % of this budget, and a call that may cost ten times as much is expected to cost a tenth.
#[test]
fn four_calls_are_in_flight_though_money_is_short() {
    let server = Server::with(|_| {
        let reply = json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 45, "completion_tokens": 2},
        });
        Action::Later(Duration::from_millis(30), Box::new(Action::Json(reply)))
    });
    let keys = format!("max_tokens = 5\nthreshold = 0.5\n{CHEAP}");
    let job = format!("budget = 0.0006\n{HEAD}{}", judge("judge", ASKED, &keys));
    let job = job.replace("URL", &server.url("/v1"));
    let place = TestFolder::new(&[("answers.jsonl", &answers(20, 12, |_| 5)), ("job.toml", &job)]);
    ok(&["run", &place.argument("job.toml"), "--quiet"]);
    assert_eq!(server.in_flight_max(), 4);
}

/// Recorded costs are the best forecast of bills.
#[test]
fn a_plan_from_a_recording_expects_its_bills() {
    let keys = format!("max_tokens = 5\nthreshold = 0.5\n{CHEAP}");
    let job = format!("budget = 0.002\n{HEAD}{}", judge("judge", ASKED, &keys));
    let job = job.replace("URL", "http://127.0.0.1:9/v1");
    let place = TestFolder::new(&[("answers.jsonl", &answers(40, 24, |_| 5)), ("job.toml", &job)]);
    let spent = |cost: &str| {
        let mut recording = "{\"goodarm_recording\": 1, \"unit\": \"dollars\"}\n".to_owned();
        for index in 0..40 {
            let scores = if (index * 7) % 40 < 24 { [1, 1, 1, 1] } else { [0, 0, 1, 0] };
            let line = json!({
                "id": format!("a{index}"), "verifier": "judge", "scores": scores, "costs": vec![cost; 4],
            });
            let _ = writeln!(recording, "{line}");
        }
        place.write("recording.jsonl", &recording);
        let recording = place.argument("recording.jsonl");
        let (file, json) = (place.argument("job.toml"), "--json");
        let said = ok(&["plan", &file, "--recording", &recording]);
        assert!(said.ends_with("Bills are as recorded.\n"), "{said}");
        let plan = ok(&["plan", &file, "--recording", &recording, json]);
        let plan: Value = serde_json::from_str(&plan).expect("JSON");
        plan["steps"][0]["realistic"]["median"].as_f64().expect("an amount")
    };
    let ratio = spent("0.00002") / spent("0.000002");
    assert!((7.0..13.0).contains(&ratio), "ten times the bills, {ratio} times the cost");
}
