//! Packs the pages of the book into one compressed file, which `goodarm docs` reads.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> io::Result<()> {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    println!("cargo::rerun-if-changed={}", book.display());
    let mut pages = BTreeMap::new();
    let mut folders = vec![book.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                // The page of a folder has the name of the folder.
                let is_of_folder = path.ends_with("README.md") && folder != book;
                let named = if is_of_folder { &folder } else { &path };
                let name = named.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let earlier = pages.insert(name, fs::read_to_string(&path)?);
                assert!(earlier.is_none(), "two pages have the name of {}", path.display());
            }
        }
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("book");
    let mut packed = DeflateEncoder::new(File::create(out)?, Compression::best());
    for (name, text) in &pages {
        write!(packed, "{name}\0{text}\0")?;
    }
    packed.finish()?;
    Ok(())
}
