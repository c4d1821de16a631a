//! From a figure to PNG bytes, with the embedded typeface and no other.

use std::sync::{Arc, LazyLock};

use goodarm_plot::{Figure, svg};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{Options, Tree};

use crate::lab_error::LabError;

/// The figure as a PNG picture, in an embedded typeface.
///
/// # Errors
///
/// The picture would have too many pixels, or cannot be encoded.
pub fn png(figure: &Figure) -> Result<Vec<u8>, LabError> {
    let options = Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let tree = Tree::from_str(&svg(figure), &options)
        .map_err(|error| LabError::about("a figure cannot be read back as SVG", error))?;
    let scale = PIXEL_WIDTH / tree.size().width();
    let mut pixels = tree
        .size()
        .scale_by(scale)
        .map(|size| size.to_int_size())
        .and_then(|size| Pixmap::new(size.width(), size.height()))
        .ok_or_else(|| LabError("a picture has too many pixels".to_owned()))?;
    // The last row of pixels may exceed the figure by a part of a pixel.
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| LabError::about("a picture cannot be encoded", error))
}

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    for bytes in [notosans::REGULAR_TTF, notosans::BOLD_TTF] {
        fonts.load_font_source(Source::Binary(Arc::new(bytes)));
    }
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// The typeface whose widths the layout of figures uses.
const FAMILY: &str = "Noto Sans";
/// The width of a picture; the height follows from it.
const PIXEL_WIDTH: f32 = 1600.0;
