//! One page: its blocks, what a reader would do with them, and what the reader would see.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use goodarm_testing::{TestFolder, closed_port};

use crate::tool::{laboratory, root};

/// A fenced block.
pub(super) struct Block {
    /// The language, and the words after it.
    info: Vec<String>,
    pub(super) body: String,
}

impl Block {
    pub(super) fn language(&self) -> &str {
        self.info.first().map_or("", String::as_str)
    }

    fn has(&self, word: &str) -> bool {
        self.info.iter().any(|own| own == word)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let info = info.split_whitespace().map(str::to_owned).collect();
        let body = lines.by_ref().take_while(|line| *line != "```");
        let body = body.map(|line| format!("{line}\n")).collect();
        blocks.push(Block { info, body });
    }
    blocks
}

/// Does what the page says, and compares.
pub(super) fn check(name: &str) {
    let path = root().join("docs").join(name);
    let page = fs::read_to_string(path).expect("the page is there");
    // The page names a port; any free one will do.
    let port = closed_port();
    let reader = Reader::new(name);
    let mut servers = Vec::new();
    for block in blocks(&page.replace(PORT, &port.to_string())) {
        if let Some(file) = block.value("file") {
            reader.place.write(file, &block.body);
        } else if let Some(file) = block.value("append") {
            reader.append(file, &block.body);
        } else if let Some(file) = block.value("from") {
            let source = fs::read_to_string(root().join(file)).expect("the file is there");
            assert!(source.contains(&block.body), "{name}: not in {file}:\n{}", block.body);
        } else if block.has("background") {
            servers.push(reader.serve(&block));
        } else if block.language() == "console" && block.value("no-run").is_none() {
            reader.follow(&block);
        }
    }
}

/// A reader who does what a page says, in a folder of their own.
struct Reader<'a> {
    page: &'a str,
    place: TestFolder,
    has_jq: bool,
}

impl<'a> Reader<'a> {
    fn new(page: &'a str) -> Self {
        let place = TestFolder::new(&[]);
        std::os::unix::fs::symlink(root().join("examples"), place.join("examples"))
            .expect("the folder takes a link");
        let jq = Command::new("jq").arg("--version").stdout(Stdio::null()).status();
        Self { page, place, has_jq: jq.is_ok() }
    }

    fn append(&self, file: &str, text: &str) {
        let path = self.place.join(file);
        let mut file = fs::OpenOptions::new().append(true).open(path).expect("the file is there");
        write!(file, "\n{text}").expect("it takes more");
    }

    fn shell(&self, line: &str) -> Command {
        let tool = Path::new(env!("CARGO_BIN_EXE_goodarm")).parent().expect("it is in a folder");
        if line.contains("goodarm-lab ") {
            laboratory();
        }
        let path = std::env::var("PATH").expect("there is a PATH");
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).current_dir(self.place.path());
        command.env("PATH", format!("{}:{path}", tool.display())).stdin(Stdio::null());
        command
    }

    /// Starts what goes on running, and waits for the first line that it prints.
    fn serve(&self, block: &Block) -> Server {
        let (command, shown) = commands(&block.body).remove(0);
        let mut shell = self.shell(&format!("exec {command}"));
        let mut child = shell.stdout(Stdio::piped()).spawn().expect("a shell starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it prints");
        assert_eq!(line.trim_end(), shown.join("\n"), "{}: {command}", self.page);
        Server(child)
    }

    /// Types the commands of a block, one after the other.
    fn follow(&self, block: &Block) {
        let commands = commands(&block.body);
        let last = commands.len() - 1;
        let status = block.value("exit").map_or(0, |text| text.parse().expect("exit=NUMBER"));
        for (index, (command, shown)) in commands.iter().enumerate() {
            if command.contains("jq ") && !self.has_jq {
                continue;
            }
            let output = self.shell(&format!("{{ {command}\n}} 2>&1")).output().expect("a shell");
            let printed = String::from_utf8_lossy(&output.stdout);
            let expected = if index == last { status } else { 0 };
            let at = format!("{}: $ {command}\nprinted\n{printed}", self.page);
            assert_eq!(output.status.code(), Some(expected), "{at}");
            let tidy = |line: &str| match block.has("numbers-vary") {
                true => words(line),
                false => line.trim_end().to_owned(),
            };
            let shown: Vec<String> = shown.iter().map(|line| tidy(line)).collect();
            let printed: Vec<String> = printed.lines().map(tidy).collect();
            assert!(is_alike(&shown, &printed), "{at}\nbut the page shows\n{}", shown.join("\n"));
        }
    }
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Each command with the lines that are shown below it.
fn commands(console: &str) -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in console.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), Vec::new()));
        } else {
            let (_, shown) = commands.last_mut().expect("a console begins with a command");
            shown.push(line.to_owned());
        }
    }
    commands
}

/// The line with `#` for each number and one space for many; bars of any length are alike.
fn words(line: &str) -> String {
    let mut words = String::new();
    let mut in_number = false;
    for character in line.trim_end().chars() {
        in_number = character.is_ascii_digit() || in_number && ".,e-".contains(character);
        let shown = if in_number { '#' } else { character };
        if !("# █".contains(shown) && words.ends_with(shown)) {
            words.push(shown);
        }
    }
    words
}

/// Whether the lines are those that are shown; `…` alone stands for any lines.
fn is_alike(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=printed.len()).any(|skipped| is_alike(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| is_line_alike(first, line) && is_alike(rest, others)),
    }
}

/// Whether the line is the one that is shown; `…` in it stands for anything.
fn is_line_alike(shown: &str, line: &str) -> bool {
    let Some((head, rest)) = shown.split_once('…') else { return shown == line };
    let Some(line) = line.strip_prefix(head) else { return false };
    let mut ends = line.char_indices().map(|(index, _)| index).chain([line.len()]);
    ends.any(|end| is_line_alike(rest, &line[end..]))
}

#[test]
fn other_lines_are_noticed() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let printed = lines("one 1\ntwo 2\nthree 3");
    for alike in ["one 1\ntwo 2\nthree 3", "…", "one 1\n…", "…\nthree 3", "one …\n…\nthr…3"]
    {
        assert!(is_alike(&lines(alike), &printed), "{alike}");
    }
    for other in ["", "one 1\ntwo 2", "one 2\n…", "…\ntwo 2", "one…2\n…", "one 1\n…\nthree 3\nfour"]
    {
        assert!(!is_alike(&lines(other), &printed), "{other}");
    }
    assert_eq!(words("spent 4.4e-4 of  600 calls  ███"), words("spent 1 of 1,200 calls █"));
    assert_ne!(words("8 certified"), words("8 rejected"));
}

/// The port in the pages.
const PORT: &str = "8765";
