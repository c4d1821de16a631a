//! The content of a figure, as plain data. How it is drawn is decided elsewhere.

use crate::look::Look;

/// One figure of a paper: a title, some panels, a caption.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The text above the panels; may be empty.
    pub title: String,
    /// The text below the panels; may be empty.
    pub caption: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// How many panels are side by side.
    pub columns: usize,
    /// Where the names of methods are.
    pub legend: Legend,
}

impl Figure {
    /// Panels below each other, each with the names of its methods.
    pub fn new(title: impl Into<String>, caption: impl Into<String>, panels: Vec<Panel>) -> Self {
        let (title, caption) = (title.into(), caption.into());
        Self { title, caption, panels, columns: 1, legend: Legend::InPanels }
    }

    /// The figure with this many panels side by side.
    #[must_use]
    pub fn in_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// The figure with the names of methods once for all panels.
    #[must_use]
    pub fn with_shared_legend(self) -> Self {
        Self { legend: Legend::Shared, ..self }
    }
}

/// Where the names of methods are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Legend {
    /// Each panel names its own methods: lines at their right ends, bars in a row above.
    #[default]
    InPanels,
    /// Once below the title, for panels that show the same methods side by side.
    Shared,
}

/// One chart with its title.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The title, for example `(a) Reliable coverage`.
    pub title: String,
    /// The chart.
    pub content: PanelContent,
}

impl Panel {
    /// Lines between two axes.
    pub fn lines(title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self { title: title.into(), content: PanelContent::Lines(LineChart { x, y, series }) }
    }

    /// Groups of bars.
    pub fn bars(title: impl Into<String>, chart: BarChart) -> Self {
        Self { title: title.into(), content: PanelContent::Bars(chart) }
    }
}

/// What a panel shows.
#[derive(Clone, Debug, PartialEq)]
pub enum PanelContent {
    /// Lines, staircases and reference lines between two axes.
    Lines(LineChart),
    /// Groups of bars.
    Bars(BarChart),
}

/// Lines between two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series in the order of the legend.
    pub series: Vec<Series>,
}

/// An axis. Values that are not finite, beyond ±10³⁰⁰, or not positive on a logarithmic axis cannot
/// be shown and are skipped wherever they occur.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit.
    pub label: String,
    /// How values become distances.
    pub scale: Scale,
    /// The lowest and the highest value. `None`, or a range that cannot be shown: the range of the data.
    pub range: Option<(f64, f64)>,
    /// Marks with their labels; `None`: round numbers.
    pub ticks: Option<Vec<(f64, String)>>,
}

impl Axis {
    /// A linear axis with automatic range and ticks.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: None, ticks: None }
    }

    /// A logarithmic axis with automatic range and ticks.
    pub fn log10(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log10, range: None, ticks: None }
    }
}

/// How values become distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log10,
}

/// One method in one panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name as it is printed.
    pub name: String,
    /// The same method has the same look in every figure.
    pub look: Look,
    /// How the points are joined and how their errors are shown.
    pub kind: SeriesKind,
    /// The points, joined in this order. Points that cannot be shown are skipped.
    pub points: Vec<Point>,
}

impl Series {
    /// A series of these points.
    pub fn new(
        name: impl Into<String>,
        look: Look,
        kind: SeriesKind,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        Self { name: name.into(), look, kind, points: points.into_iter().collect() }
    }
}

/// How points are joined and how their errors are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Straight lines, errors as a pale band.
    Line,
    /// Straight lines, errors as whiskers at each point.
    ErrorBars,
    /// A right-continuous staircase: each value holds until the next point. Errors are not shown.
    Step,
    /// A thin grey dashed line that is not a measurement, in any look. A single point means
    /// the level line through it.
    Reference,
}

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The value on the horizontal axis.
    pub x: f64,
    /// The value on the vertical axis.
    pub y: f64,
    /// Half the height of the band or whisker, usually one standard error; the caption should explain it.
    pub error: Option<f64>,
}

impl Point {
    /// A value without an error.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, error: None }
    }
}

/// Groups of bars with one bar of each series.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// What the groups are.
    pub x_label: String,
    /// What is measured, with its unit. The vertical axis begins at zero.
    pub y_label: String,
    /// Names of the groups, from left to right.
    pub groups: Vec<String>,
    /// The series, from left to right in each group.
    pub series: Vec<BarSeries>,
}

/// The bars of one method.
#[derive(Clone, Debug, PartialEq)]
pub struct BarSeries {
    /// The name as it is printed.
    pub name: String,
    /// The same method has the same look in every figure.
    pub look: Look,
    /// One bar for each group. Negative bars, and others that cannot be shown, leave a gap.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The value at the upper end of the bar.
    pub value: f64,
    /// Half the length of the whisker, usually one standard error; the caption should explain it.
    pub error: Option<f64>,
}
