//! The output of a program.

use std::process::Output;

/// Standard output.
pub fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the output is UTF-8")
}

/// Standard error.
pub fn message(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are UTF-8")
}
