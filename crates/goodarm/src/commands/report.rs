//! `goodarm report`: what a run found, for people.

use std::fs;

use goodarm_report::Report;
use goodarm_report::plot_file;

use crate::cli::ReportArguments;
use crate::commands::{CommandError, notes};
use crate::terminal;

pub(crate) fn run(arguments: &ReportArguments) -> Result<(), CommandError> {
    // Text, JSON or plots instead of the page, unless a page is named too.
    let is_only_page = !arguments.json && !arguments.text && arguments.plots.is_none();
    let is_page_wanted = is_only_page || arguments.out.is_some();
    let folder = &arguments.folder;
    let report = if is_page_wanted { Report::read_for_page(folder) } else { Report::read(folder) };
    let report = report?;
    if let Some(folder) = &arguments.plots {
        fs::create_dir_all(folder).map_err(|error| CommandError::file(folder, &error))?;
        for (name, figure) in report.figures() {
            let path = folder.join(format!("{name}.svg"));
            plot_file::write(&figure, &path)?;
        }
    }
    if arguments.json {
        terminal::print(&format!("{}\n", report.json()));
    } else if arguments.text {
        terminal::print(&report.text());
    }
    if is_page_wanted {
        let page = report.write_page(arguments.out.as_deref())?;
        terminal::print(&notes(report.notes()));
        terminal::print(&format!("wrote {}\n", page.display()));
    }
    Ok(())
}
