//! The layout of a figure: title, legend, panels in rows and columns, caption.
//!
//! Plots in a column share their left and right edges, plots in a row their upper and lower ones, so
//! that axes can be compared by eye.

use crate::bars::{self, Bars};
use crate::canvas::{Anchor, Canvas, TextStyle};
use crate::chart::{Chart, NoData};
use crate::figure::{Figure, Legend, Panel, PanelContent};
use crate::font::Face;
use crate::frame::ASCENT;
use crate::geometry::{Rect, Spot, count, spot};
use crate::legend::{self, LegendEntry, LegendRows};
use crate::lines::{self, Lines};
use crate::look::{Colour, INK, QUIET};
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

/// What a screen reader reads: the title, or without one the titles of the panels.
fn spoken_title(figure: &Figure) -> String {
    let titles =
        std::iter::once(&figure.title).chain(figure.panels.iter().map(|panel| &panel.title));
    let mut spoken = titles.map(|title| title.trim()).filter(|title| !title.is_empty());
    let first = spoken.next().unwrap_or("figure").to_owned();
    if figure.title.trim().is_empty() {
        spoken.fold(first, |all, next| all + "; " + next)
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

    /// The height with the gap below the block; 0 if the block is empty.
    fn space(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.height() + BLOCK_GAP }
    }

    fn draw(&self, canvas: &mut Canvas, origin: Spot) {
        let style = TextStyle::new(self.face, Anchor::Start, self.colour);
        let y = origin.y + self.face.size * ASCENT + 1.0;
        canvas.text_lines(spot(origin.x, y), &self.lines, style);
    }
}

/// A panel, ready to be measured and drawn.
struct Cell<'a> {
    title: Block,
    legend: LegendRows,
    chart: Box<dyn Chart + 'a>,
}

impl<'a> Cell<'a> {
    fn new(panel: &'a Panel, sheet: Sheet, legend: Legend) -> Self {
        let title = Block::new(&panel.title, PANEL_TITLE, INK, sheet.cell_width);
        let chart: Option<Box<dyn Chart + 'a>> = match &panel.content {
            PanelContent::Lines(chart) => boxed(Lines::plan(chart, sheet, legend)),
            PanelContent::Bars(chart) => boxed(Bars::plan(chart, sheet)),
        };
        let entries = match &panel.content {
            PanelContent::Bars(bars) if legend == Legend::InPanels && chart.is_some() => {
                bars::entries(bars)
            }
            _ => Vec::new(),
        };
        let legend = LegendRows::new(entries, sheet.cell_width);
        Self { title, legend, chart: chart.unwrap_or_else(|| Box::new(NoData)) }
    }

    /// The height from the top of the panel to its legend.
    fn title_room(&self) -> f64 {
        if self.title.is_empty() { 0.0 } else { self.title.height() + PANEL_GAP }
    }

    fn top_room(&self) -> f64 {
        let legend = self.legend.height();
        let legend = if legend > 0.0 { legend + PANEL_GAP } else { 0.0 };
        self.title_room() + legend + HALF_NUMBER
    }

    fn draw(&self, canvas: &mut Canvas, cell: Rect, plot: Rect) {
        self.title.draw(canvas, spot(cell.left, cell.top));
        self.legend.draw(canvas, spot(cell.left, cell.top + self.title_room()));
        self.chart.draw(canvas, plot, cell);
    }
}

fn boxed<'a>(chart: Option<impl Chart + 'a>) -> Option<Box<dyn Chart + 'a>> {
    chart.map(|chart| Box::new(chart) as Box<dyn Chart + 'a>)
}

/// The measures of columns and rows.
struct Grid {
    sheet: Sheet,
    /// The widths left and right of the plots of each column.
    sides: Vec<(f64, f64)>,
    /// The heights above, of and below the plots of each row.
    bands: Vec<(f64, f64, f64)>,
}

impl Grid {
    fn new(cells: &[Cell<'_>], sheet: Sheet) -> Self {
        let largest = |rooms: &mut dyn Iterator<Item = f64>| rooms.fold(0.0, f64::max);
        let sides: Vec<(f64, f64)> = (0..sheet.columns)
            .map(|column| {
                let cells = || cells.iter().skip(column).step_by(sheet.columns);
                let left = largest(&mut cells().map(|cell| cell.chart.rooms().left));
                let right = largest(&mut cells().map(|cell| cell.chart.rooms().right));
                (left, right)
            })
            .collect();
        let width = |column: usize, cell: &Cell<'_>| plot_width(sheet, cell, sides[column]);
        let bands = cells
            .chunks(sheet.columns)
            .map(|row| {
                let top = largest(&mut row.iter().map(Cell::top_room));
                let plot = largest(&mut row.iter().map(|cell| cell.chart.plot_height(sheet)));
                let bottom = |(i, cell): (usize, &Cell<'_>)| cell.chart.bottom_room(width(i, cell));
                let bottom = largest(&mut row.iter().enumerate().map(bottom));
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
    let right = if cell.chart.rooms().covers_right { 0.0 } else { right };
    (sheet.cell_width - left - right).max(PLOT_WIDTH_MIN)
}

/// The gap between the parts of a panel.
const PANEL_GAP: f64 = 6.0;
/// Room for the upper half of the number at the upper end of an axis.
const HALF_NUMBER: f64 = 6.0;
const PLOT_WIDTH_MIN: f64 = 40.0;
const COLUMNS_MAX: usize = 8;
const BLOCK_LINES_MAX: usize = 30;
