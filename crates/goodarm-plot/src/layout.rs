//! Where everything stands: title, legend, panels in rows and columns, caption.
//!
//! Panels below each other share their left and right edges, panels beside each other their upper
//! and lower ones, so that axes can be compared by eye.

use crate::bars::{self, Bars};
use crate::canvas::{Anchor, Canvas, TextStyle};
use crate::figure::{Figure, Legend, Panel, PanelContent};
use crate::font::Face;
use crate::frame::{ASCENT, draw_no_data};
use crate::geometry::{Rect, Spot, count, spot};
use crate::legend::{self, LegendEntry, LegendRows};
use crate::lines::{self, Lines};
use crate::look::{Colour, INK, QUIET};
use crate::sectors::Sectors;
use crate::sheet::{
    BLOCK_GAP, CAPTION, COLUMN_GAP, FIGURE_TITLE, MARGIN, PANEL_TITLE, ROW_GAP, Sheet,
};

/// The whole figure as SVG text.
pub(crate) fn draw(figure: &Figure) -> String {
    let sheet = Sheet::new(figure.columns.clamp(1, COLUMNS_MAX).min(figure.panels.len().max(1)));
    let width = sheet.content_width();
    let title = Block::new(&figure.title, FIGURE_TITLE, INK, width);
    let caption = Block::new(&figure.caption, CAPTION, QUIET, width);
    let legend = LegendRows::new(shared_entries(figure), width);
    let cells: Vec<Cell<'_>> =
        figure.panels.iter().map(|panel| Cell::new(panel, sheet, figure.legend)).collect();
    let grid = Grid::new(&cells, sheet);

    let legend_top = MARGIN + title.space();
    let panels_top =
        legend_top + if legend.height() > 0.0 { legend.height() + BLOCK_GAP } else { 0.0 };
    let caption_top = panels_top + grid.height() + if caption.is_empty() { 0.0 } else { BLOCK_GAP };
    let height = caption_top + caption.height() + MARGIN;

    let mut canvas =
        Canvas::new(width + 2.0 * MARGIN, height, &spoken_title(figure), &figure.caption);
    title.draw(&mut canvas, spot(MARGIN, MARGIN));
    legend.draw(&mut canvas, spot(MARGIN, legend_top));
    grid.draw(&mut canvas, &cells, spot(MARGIN, panels_top));
    caption.draw(&mut canvas, spot(MARGIN, caption_top));
    canvas.finish()
}

/// What a screen reader says: without a title, the titles of the panels.
fn spoken_title(figure: &Figure) -> String {
    let titles =
        std::iter::once(&figure.title).chain(figure.panels.iter().map(|panel| &panel.title));
    let mut said = titles.map(|title| title.trim()).filter(|title| !title.is_empty());
    let first = said.next().unwrap_or("figure").to_owned();
    if figure.title.trim().is_empty() {
        said.fold(first, |all, next| all + "; " + next)
    } else {
        first
    }
}

fn shared_entries(figure: &Figure) -> Vec<LegendEntry> {
    match figure.legend {
        Legend::InPanels => Vec::new(),
        Legend::Shared => legend::merged(figure.panels.iter().flat_map(panel_entries)),
    }
}

fn panel_entries(panel: &Panel) -> Vec<LegendEntry> {
    match &panel.content {
        PanelContent::Lines(chart) => lines::entries(chart),
        PanelContent::Bars(chart) => bars::entries(chart),
        PanelContent::Sectors(_) => Vec::new(),
    }
}

/// Some lines of text.
struct Block {
    lines: Vec<String>,
    face: Face,
    colour: Colour,
}

impl Block {
    fn new(text: &str, face: Face, colour: Colour, width: f64) -> Self {
        Self { lines: face.wrap(text, width, BLOCK_LINES_MAX), face, colour }
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn height(&self) -> f64 {
        count(self.lines.len()) * self.face.line_height()
    }

    /// With the gap below it.
    fn space(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.height() + BLOCK_GAP }
    }

    fn draw(&self, canvas: &mut Canvas, origin: Spot) {
        let style = TextStyle::new(self.face, Anchor::Start, self.colour);
        for (i, line) in self.lines.iter().enumerate() {
            let y = origin.y + count(i) * self.face.line_height() + self.face.size * ASCENT + 1.0;
            canvas.words(spot(origin.x, y), line, style);
        }
    }
}

/// A panel whose room is measured.
struct Cell<'a> {
    title: Block,
    legend: LegendRows,
    plan: Plan<'a>,
}

enum Plan<'a> {
    Lines(Lines<'a>),
    Bars(Bars<'a>),
    Sectors(Sectors<'a>),
    NoData,
}

impl<'a> Cell<'a> {
    fn new(panel: &'a Panel, sheet: Sheet, legend: Legend) -> Self {
        let title = Block::new(&panel.title, PANEL_TITLE, INK, sheet.cell_width);
        let plan = match &panel.content {
            PanelContent::Lines(chart) => Lines::plan(chart, sheet, legend).map(Plan::Lines),
            PanelContent::Bars(chart) => Bars::plan(chart, sheet).map(Plan::Bars),
            PanelContent::Sectors(donut) => Sectors::plan(donut, sheet).map(Plan::Sectors),
        };
        let entries = match &panel.content {
            PanelContent::Bars(chart) if legend == Legend::InPanels && plan.is_some() => {
                bars::entries(chart)
            }
            _ => Vec::new(),
        };
        let legend = LegendRows::new(entries, sheet.cell_width);
        Self { title, legend, plan: plan.unwrap_or(Plan::NoData) }
    }

    fn left_room(&self) -> f64 {
        match &self.plan {
            Plan::Lines(lines) => lines.left_room(),
            Plan::Bars(bars) => bars.left_room(),
            Plan::Sectors(_) | Plan::NoData => 0.0,
        }
    }

    /// Bars are not named on the right, so they need no room there even if other panels do.
    fn shares_right(&self) -> bool {
        !matches!(self.plan, Plan::Bars(_))
    }

    fn right_room(&self) -> f64 {
        match &self.plan {
            Plan::Lines(lines) => lines.right_room(),
            Plan::Bars(_) | Plan::Sectors(_) | Plan::NoData => 0.0,
        }
    }

    fn top_room(&self) -> f64 {
        let legend =
            if self.legend.height() > 0.0 { self.legend.height() + PANEL_GAP } else { 0.0 };
        let title = if self.title.is_empty() { 0.0 } else { self.title.height() + PANEL_GAP };
        let overhang = if let Plan::Bars(bars) = &self.plan { bars.top_room() } else { 0.0 };
        title + legend + overhang.max(HALF_NUMBER)
    }

    fn bottom_room(&self, width: f64) -> f64 {
        match &self.plan {
            Plan::Lines(lines) => lines.level_ruler(width).bottom_room(),
            Plan::Bars(bars) => bars.bottom_room(width),
            Plan::Sectors(_) | Plan::NoData => 0.0,
        }
    }

    fn plot_height(&self, sheet: Sheet) -> f64 {
        match &self.plan {
            Plan::Lines(lines) => lines.height_min().max(sheet.plot_height),
            Plan::Bars(_) => sheet.plot_height,
            Plan::Sectors(sectors) => sectors.height_min(),
            Plan::NoData => sheet.plot_height / 2.0,
        }
    }

    fn draw(&self, canvas: &mut Canvas, cell: Rect, plot: Rect) {
        self.title.draw(canvas, spot(cell.left, cell.top));
        let legend_top =
            cell.top + if self.title.is_empty() { 0.0 } else { self.title.height() + PANEL_GAP };
        self.legend.draw(canvas, spot(cell.left, legend_top));
        match &self.plan {
            Plan::Lines(lines) => lines.draw(canvas, plot, cell),
            Plan::Bars(bars) => bars.draw(canvas, plot),
            Plan::Sectors(sectors) => {
                sectors.draw(canvas, Rect { top: plot.top, bottom: cell.bottom, ..cell })
            }
            Plan::NoData => draw_no_data(canvas, plot),
        }
    }
}

/// Rooms of columns and rows.
struct Grid {
    sheet: Sheet,
    /// Left and right of the plots of each column.
    sides: Vec<(f64, f64)>,
    /// Above, in and below the plots of each row.
    bands: Vec<(f64, f64, f64)>,
}

impl Grid {
    fn new(cells: &[Cell<'_>], sheet: Sheet) -> Self {
        let largest = |rooms: &mut dyn Iterator<Item = f64>| rooms.fold(0.0, f64::max);
        let sides: Vec<(f64, f64)> = (0..sheet.columns)
            .map(|column| {
                let cells = || cells.iter().skip(column).step_by(sheet.columns);
                let left = largest(&mut cells().map(Cell::left_room));
                let right = largest(&mut cells().map(Cell::right_room));
                (left, right)
            })
            .collect();
        let width = |column: usize, cell: &Cell<'_>| plot_width(sheet, cell, sides[column]);
        let bands = cells
            .chunks(sheet.columns)
            .map(|row| {
                let top = largest(&mut row.iter().map(Cell::top_room));
                let plot = largest(&mut row.iter().map(|cell| cell.plot_height(sheet)));
                let bottom = largest(
                    &mut row.iter().enumerate().map(|(i, cell)| cell.bottom_room(width(i, cell))),
                );
                (top, plot, bottom)
            })
            .collect();
        Self { sheet, sides, bands }
    }

    fn height(&self) -> f64 {
        let rows: f64 = self.bands.iter().map(|(top, plot, bottom)| top + plot + bottom).sum();
        rows + ROW_GAP * (count(self.bands.len()) - 1.0).max(0.0)
    }

    fn draw(&self, canvas: &mut Canvas, cells: &[Cell<'_>], origin: Spot) {
        let mut y = origin.y;
        for (row, (top, plot, bottom)) in cells.chunks(self.sheet.columns).zip(&self.bands) {
            let end = y + top + plot + bottom;
            for (column, cell) in row.iter().enumerate() {
                let left = origin.x + count(column) * (self.sheet.cell_width + COLUMN_GAP);
                let area = Rect { left, top: y, right: left + self.sheet.cell_width, bottom: end };
                let (left_room, _) = self.sides[column];
                let plot_left = left + left_room;
                let plot_area = Rect {
                    left: plot_left,
                    top: y + top,
                    right: plot_left + plot_width(self.sheet, cell, self.sides[column]),
                    bottom: y + top + plot,
                };
                cell.draw(canvas, area, plot_area);
            }
            y = end + ROW_GAP;
        }
    }
}

fn plot_width(sheet: Sheet, cell: &Cell<'_>, (left, right): (f64, f64)) -> f64 {
    let right = if cell.shares_right() { right } else { 0.0 };
    (sheet.cell_width - left - right).max(PLOT_WIDTH_MIN)
}

/// Between the parts of a panel.
const PANEL_GAP: f64 = 6.0;
/// A number at the upper end of an axis rises above it.
const HALF_NUMBER: f64 = 6.0;
const PLOT_WIDTH_MIN: f64 = 40.0;
const COLUMNS_MAX: usize = 8;
const BLOCK_LINES_MAX: usize = 30;
