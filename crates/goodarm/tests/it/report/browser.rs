//! A real browser, driven through its debugging pipe: what a person would see and press.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A headless browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Value,
    message_next: u64,
    load_count: u64,
    /// What the page complained about.
    pub(crate) complaints: Vec<String>,
    profile: PathBuf,
}

impl Browser {
    /// Starts a browser on an empty page.
    pub(crate) fn start(name: &str) -> Self {
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}"));
        let _ = std::fs::remove_dir_all(&profile);
        // The pipe is on descriptors 3 and 4, which only a shell gives away safely. A browser that
        // hangs must not hang the tests.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec timeout -k 1 100 \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1",
                program(),
            ])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut browser = Self {
            child,
            input,
            output,
            session: Value::Null,
            message_next: 1,
            load_count: 0,
            complaints: Vec::new(),
            profile,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", &attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Opens a file, with this after the #, and waits until it is all there.
    pub(crate) fn open(&mut self, path: &Path, address: &str) {
        self.load(path, address);
        self.settle();
    }

    /// The same without waiting for its scripts.
    pub(crate) fn load(&mut self, path: &Path, address: &str) {
        // A mere change of what is after the # would load nothing.
        self.navigate("about:blank");
        self.navigate(&format!("file://{}#{address}", path.display()));
    }

    /// Opens an address.
    pub(crate) fn navigate(&mut self, url: &str) {
        let before = self.load_count;
        self.call("Page.navigate", &json!({"url": url}));
        while self.load_count == before {
            self.event();
        }
    }

    /// Waits until the page has drawn what it was about to draw. No value that the page shows may be missing.
    pub(crate) fn settle(&mut self) {
        let frames = "new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 30))";
        self.value(frames);
        let missing = r"document.body.innerText.match(/.{0,60}(\bundefined\b|\bNaN\b|\[object ).{0,60}/)?.[0] ?? ''";
        assert_eq!(self.text(missing), "", "the page shows a value that it does not have");
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let reply = self.call("Runtime.evaluate", &ask);
        assert!(reply.get("exceptionDetails").is_none(), "{expression}: {reply}");
        reply["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().expect("a text").to_owned()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.call("Input.dispatchKeyEvent", &event);
        }
        self.settle();
    }

    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.message_next;
        self.message_next += 1;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let bytes = [message.to_string().as_bytes(), &[0]].concat();
        self.input.write_all(&bytes).expect("the browser listens");
        loop {
            let reply = self.event();
            if reply["id"] == id {
                assert!(reply.get("error").is_none(), "{method}: {reply}");
                return reply["result"].clone();
            }
        }
    }

    fn event(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).expect("the browser talks");
        assert!(!bytes.is_empty(), "the browser has gone");
        bytes.pop();
        let event: Value = serde_json::from_slice(&bytes).expect("JSON");
        let method = event["method"].as_str().unwrap_or_default();
        self.load_count += u64::from(method == "Page.loadEventFired");
        if ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"]
            .contains(&method)
        {
            self.complaints.push(event.to_string());
        }
        event
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let goodbye = json!({"id": 0, "method": "Browser.close"});
        let _ = self.input.write_all(&[goodbye.to_string().as_bytes(), &[0]].concat());
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The browser's name.
fn program() -> &'static str {
    let folders: Vec<PathBuf> =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let is_there = |name: &&&str| folders.iter().any(|folder| folder.join(name).is_file());
    let found = PROGRAMS.iter().find(is_there);
    found.expect("a browser is needed for this test: install the Debian package `chromium`")
}

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// No window, no network but this machine, no first-run talk.
const FLAGS: [&str; 14] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1280,900",
];
