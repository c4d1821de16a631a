//! Keys that come from the environment stay there: they are in no file of a run and in no line that is
//! shown, in whatever form a server or a program repeats them.

use std::process::{Command, Output};

use goodarm_testing::{Server, TestFolder, closed_port, status};
use serde_json::Value;

use crate::hostile::server;

/// It has all that is escaped somewhere.
const KEY: &str = "sk-Te5t/k+y=%\"&\\<9~'end";

/// The key as JSON, queries, forms and pages have it, and in hexadecimal.
fn forms() -> Vec<String> {
    let each = |escape: fn(char) -> String| KEY.chars().map(escape).collect::<String>();
    let json = Value::from(KEY).to_string();
    let json = json.trim_matches('"');
    vec![
        KEY.to_owned(),
        json.to_owned(),
        json.replace('/', "\\/"),
        each(|c| c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()),
        each(
            |c| if c.is_ascii_alphanumeric() || "-~".contains(c) { c.into() } else { each_byte(c) },
        ),
        KEY.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;"),
        each(|c| format!("{:02x}", u32::from(c))),
    ]
}

fn each_byte(c: char) -> String {
    c.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn place(verifiers: &str) -> TestFolder {
    let place = TestFolder::new(&[]);
    let answers: String = (0..3).map(|index| format!("{{\"id\": \"q{index}\"}}\n")).collect();
    place.write("answers.jsonl", &answers);
    let job = format!("candidates = \"answers.jsonl\"\nbudget = 30\ndelta = 0.05\n{verifiers}");
    place.write("job.toml", &job);
    place
}

fn goodarm(place: &TestFolder, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
    command
        .args(arguments)
        .current_dir(place.path())
        .env("TEST_API_KEY", KEY)
        .env("SHORT_KEY", "abc");
    command.env("PLAIN_SETTING", "visible-setting").output().expect("the tool starts")
}

/// Tries and runs the job, and looks at everything that came of it for a part that only the key has.
#[track_caller]
fn assert_kept(place: &TestFolder) -> String {
    let mut said = String::new();
    for arguments in [
        &["run", "job.toml", "--dry-run"][..],
        &["try", "job.toml"],
        &["try", "job.toml", "--json"],
        &["run", "job.toml", "--json"],
        &["run", "job.toml", "--again"],
        &["run", "job.toml", "--policy", "fixed", "-k", "2", "--output", "pilot"],
        &["report", "run"],
        &["report", "run", "--json"],
    ] {
        let output = goodarm(place, arguments);
        for bytes in [output.stdout, output.stderr] {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert_no_key(&text, &format!("{arguments:?}"));
            said += &text;
        }
    }
    let mut files = vec![place.path().to_owned()];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            let inner = std::fs::read_dir(&path).expect("a folder").flatten();
            files.extend(inner.map(|entry| entry.path()));
        } else if !path.ends_with("evil.sh") {
            let bytes = std::fs::read(&path).expect("a file");
            assert_no_key(&String::from_utf8_lossy(&bytes), &path.display().to_string());
        }
    }
    said
}

#[track_caller]
fn assert_no_key(text: &str, place: &str) {
    for part in ["Te5t", "<9~", "54%65%35%74", "'end", "9%7e", "54653574"] {
        assert!(!text.contains(part), "{place} has {part}: {text}");
    }
}

fn http(url: &str) -> String {
    format!(
        "[[verifiers]]\nname = \"http\"\nkind = \"http\"\nurl = \"{url}\"\napi_key_env = \"TEST_API_KEY\"\n\
         threshold = 0.5\nscores = \"binary\"\n"
    )
}

#[test]
fn a_server_that_repeats_the_key_gets_it_nowhere() {
    let all = forms().iter().map(|form| format!("[{form}]")).collect::<String>();
    let url = server(400, &all);
    let said = assert_kept(&place(&http(&url)));
    assert!(said.contains(&"[***]".repeat(forms().len())), "{said}");
    let all = forms().join(" ");
    let url = server(200, &format!("{{\"score\": 1, \"x\": \"{all}\"}}"));
    assert_kept(&place(&http(&url)));
}

#[test]
fn a_proxy_that_is_no_address_is_refused_unless_the_server_is_local() {
    let dry_run = |url: &str, proxy: &str| {
        let place = place(&http(url));
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.args(["run", &place.argument("job.toml"), "--dry-run"]);
        let output = command.env("TEST_API_KEY", KEY).env("HTTPS_PROXY", proxy).output();
        let output = output.expect("the tool starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, told) = dry_run("https://judge.example/score", "http://name:secret-word@host:port");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("HTTPS_PROXY is not the address of a proxy"), "{told}");
    assert!(!told.contains("secret-word"), "{told}");
    assert_eq!(dry_run("https://judge.example/score", "http://host:3128").0, Some(0));
    assert_eq!(dry_run("http://127.0.0.1:1/score", "http://host:port").0, Some(0));
}

#[test]
fn a_key_for_this_machine_is_not_sent_through_a_proxy() {
    let proxy = Server::with(|_| status(400));
    let tried = |host: &str| {
        let url = format!("http://{host}:{}/", closed_port());
        let place = place(&http(&url));
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.args(["try", &place.argument("job.toml"), "-n", "1"]).env_remove("NO_PROXY");
        command.env_remove("no_proxy").env("http_proxy", proxy.url("/"));
        command.env("TEST_API_KEY", KEY).output().expect("the tool starts");
        proxy.request_count()
    };
    for host in ["127.0.0.2", "0.0.0.0", "localhost.", "[::1]", "[::]", "[::ffff:127.0.0.1]"] {
        assert_eq!(tried(host), 0, "{host}");
    }
    assert_eq!(tried("judge.example"), 1, "this one is not here");
}

/// Where texts are cut, half a key would stand that nobody recognises.
#[test]
fn a_key_is_struck_out_before_a_text_is_cut() {
    let reply_bytes_max = 16 << 10;
    for form in &forms()[..3] {
        for (before, after) in [(230, 500), (300, 150), (reply_bytes_max - 10, 0)] {
            let text = format!("{}{form}{}", "x".repeat(before), "y".repeat(after));
            let url = server(400, &text);
            for place in [place(&http(&url)), with_command("", &tell(&text, "exit 3"))] {
                let output = goodarm(&place, &["try", "job.toml", "-n", "1", "--json"]);
                let shown = String::from_utf8(output.stdout).expect("UTF-8");
                assert!(shown.contains("***"), "{shown}");
                // Nor the first characters of it, nor the last.
                assert!(!shown.contains("xsk-") && !shown.contains("endy"), "{shown}");
                assert_no_key(&shown, "try");
            }
        }
    }
}

#[test]
fn a_key_in_the_words_of_an_error_is_struck_out() {
    let body = format!("{{\"choices\": {}}}", Value::from(KEY));
    let url = server(200, &body);
    let judge = format!(
        "[[verifiers]]\nname = \"judge\"\nkind = \"llm\"\nurl = \"{url}\"\nmodel = \"m\"\nprompt = \"{{{{ id }}}}?\"\n\
         api_key_env = \"TEST_API_KEY\"\nmax_tokens = 5\nthreshold = 0.5\n"
    );
    let said = assert_kept(&place(&judge));
    assert!(said.contains("***"), "{said}");
}

/// A script that writes this on both ways out.
fn tell(text: &str, end: &str) -> String {
    format!("cat <<'END'\n{text}\nEND\ncat >&2 <<'END'\n{text}\nEND\n{end}")
}

/// A command that shows what it has been given, beside a server that has a key.
fn with_command(rest: &str, script: &str) -> TestFolder {
    let url = server(200, "{\"score\": 1}");
    let place = place(&format!(
        "{}[[verifiers]]\nname = \"command\"\nkind = \"command\"\ncommand = [\"sh\", \"evil.sh\"]\n\
         threshold = 0.5\nscores = \"binary\"\n{rest}",
        http(&url)
    ));
    place.write("evil.sh", script);
    place
}

#[test]
fn a_command_has_the_variables_that_it_names_and_no_others() {
    let script = "env >&2; test -n \"$PATH\" && test -z \"$TEST_API_KEY$PLAIN_SETTING\" && echo 1";
    let place = with_command("", script);
    let output = goodarm(&place, &["try", "job.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let script = "test \"$PLAIN_SETTING\" = visible-setting && test -n \"$TEST_API_KEY\" && echo 1";
    let place = with_command("env = [\"PLAIN_SETTING\", \"TEST_API_KEY\"]\n", script);
    let output = goodarm(&place, &["try", "job.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_command_that_repeats_a_key_gets_it_nowhere() {
    // All of it on both ways out, whoever the key is for.
    for (end, rest) in [
        ("echo 1", ""),
        ("exit 3", ""),
        ("exit 3", "worker = true\n"),
        ("exit 3", "env = [\"TEST_API_KEY\"]\n"),
    ] {
        assert_kept(&with_command(rest, &tell(&forms().join("\n"), end)));
    }
}

#[test]
fn a_variable_that_is_missing_or_a_key_that_is_too_short_is_an_error() {
    let message = |rest: &str| {
        let place = with_command(rest, "echo 1");
        let output = goodarm(&place, &["run", "job.toml", "--dry-run"]);
        assert_eq!(output.status.code(), Some(2), "{rest}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let said = message("env = [\"NO_SUCH_VARIABLE\"]\n");
    assert!(said.contains("env: the environment variable NO_SUCH_VARIABLE is not set"), "{said}");
    let said = message("env = [\"SHORT_KEY\"]\n");
    assert!(said.contains("SHORT_KEY holds fewer than 8 bytes"), "{said}");
    let said = message("env = [\"KEY=sk-0123456789abcdef\"]\n");
    assert!(said.contains("NAME") && !said.contains("0123456789"), "{said}");
    let short = http("http://127.0.0.1:9").replace("TEST_API_KEY", "SHORT_KEY");
    let place = place(&short);
    let output = goodarm(&place, &["run", "job.toml", "--dry-run"]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("job.toml") && said.contains("fewer than 8 bytes"), "{said}");
}

#[test]
fn a_command_that_misses_a_variable_is_helped() {
    let script = "echo \"KeyError: 'PLAIN_SETTING'\" >&2; exit 1";
    let place = with_command("", script);
    let output = goodarm(&place, &["try", "job.toml"]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.contains("env = [\"PLAIN_SETTING\"]"), "{said}");
}
