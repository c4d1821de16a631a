//! Commands that people may copy into a shell.

use std::path::Path;

/// The command that shows people their cards.
pub(crate) fn label_command(folder: &Path) -> String {
    format!("goodarm label {}", shell_word(folder))
}

/// A path as a shell takes it.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
