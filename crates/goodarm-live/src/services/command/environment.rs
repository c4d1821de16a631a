//! The environment variables of a program: common ones such as PATH, and those that the job names. The program does
//! not get others, such as the keys of other services.

use std::ffi::OsString;

use goodarm_data::problem::{KeyProblem, collect};
use reqwest::Url;

use crate::secrets::Secrets;
use crate::services::endpoint::{add_from_url, key_from_environment, looks_like_a_key};

/// The names and values of the variables that a program gets.
#[derive(Debug, Default)]
pub(super) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The common variables and the named ones, with their present values. The secrets among the named ones are
    /// added to `secrets`.
    pub(super) fn new(
        named: &[String],
        secrets: &mut Secrets,
        problems: &mut Vec<KeyProblem>,
    ) -> Self {
        let is_plain = |name: &str| {
            PLAIN.iter().any(|plain| plain.eq_ignore_ascii_case(name)) || name.starts_with("LC_")
        };
        let mut variables: Vec<(OsString, OsString)> =
            std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_plain)).collect();
        for name in named {
            let value = collect(read(name, secrets), problems);
            variables.extend(value.map(|value| (name.into(), value)));
        }
        Self(variables)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Advice for people if a program's complaint names a variable that goodarm has and did not pass on.
    pub(super) fn hint(&self, complaint: &str) -> Option<String> {
        let is_between = |sign: char| sign != '_' && !sign.is_ascii_alphanumeric();
        let is_held_back = |word: &&str| {
            word.len() > 2
                && !self.0.iter().any(|(name, _)| name == *word)
                && std::env::var_os(word).is_some()
        };
        let name = complaint.split(is_between).find(is_held_back)?;
        Some(format!(" (goodarm has {name} and does not pass it on unless told: env = [{name:?}])"))
    }
}

/// Reads a variable that a job names, and adds its secrets. A missing variable is an error, and so is a key that is
/// too short to be removed from texts.
fn read(name: &str, secrets: &mut Secrets) -> Result<OsString, KeyProblem> {
    let is_secret = is_secret(name);
    let value = match std::env::var_os(name) {
        Some(value) if !is_secret => value,
        _ => {
            // Called only for its errors, such as a missing variable or a key that is too short.
            key_from_environment("env", name)?;
            std::env::var_os(name).unwrap_or_default()
        }
    };
    let text = value.to_string_lossy();
    let is_key = |line: &str| looks_like_a_key(line) && !line.contains(['/', ' ']);
    if is_secret {
        secrets.add(&text);
    }
    text.lines().map(str::trim).filter(|line| is_key(line)).for_each(|line| secrets.add(line));
    if let Ok(url) = Url::parse(text.trim()) {
        add_from_url(secrets, &url);
    }
    Ok(value)
}

/// Whether the name of a variable suggests that its value is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split('_').any(|word| SECRET_WORDS.contains(&word))
        || ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|end| name.ends_with(end))
}

/// Variables that every program gets: common ones that have no secrets.
const PLAIN: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    // Windows.
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROCESSOR_ARCHITECTURE",
];
const SECRET_WORDS: [&str; 16] = [
    "KEY",
    "KEYS",
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "COOKIE",
    "PAT",
    "DSN",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in ["OPENAI_API_KEY", "HF_TOKEN", "PGPASSWORD", "db_password", "GITHUB_PAT"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["PATH", "TOKENIZERS_PARALLELISM", "GIT_AUTHOR_NAME", "MAX_TOKENS", "MONKEYS"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
