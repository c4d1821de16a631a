//! From a figure to PNG bytes, with the embedded typeface and no other.

use std::sync::{Arc, LazyLock};

use goodarm_plot::{Figure, svg};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{Options, Tree};

use crate::lab_error::LabError;

/// The largest count of pixels in one picture: 256 MiB of memory.
pub const PIXELS_MAX: u64 = 1 << 26;

/// The figure as a PNG picture of this width, in an embedded typeface.
///
/// # Errors
///
/// If the picture would have no pixels or more than [`PIXELS_MAX`].
pub fn png(figure: &Figure, pixel_width: u32) -> Result<Vec<u8>, LabError> {
    let options = Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let tree = Tree::from_str(&svg(figure), &options)
        .map_err(|error| LabError::about("a figure cannot be read back as SVG", error))?;
    let (mut pixels, scale) = pixel_height(&tree, pixel_width)
        .and_then(|(height, scale)| Some((Pixmap::new(pixel_width, height)?, scale)))
        .ok_or_else(|| {
            LabError(format!(
                "a picture {pixel_width} pixels wide has no pixels or more than {PIXELS_MAX}"
            ))
        })?;
    // The last row of pixels may exceed the figure by a part of a pixel.
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| LabError::about("a picture cannot be encoded", error))
}

/// The height that keeps the proportions, and pixels per unit. `None` if that is too large.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be small and positive"
)]
fn pixel_height(tree: &Tree, pixel_width: u32) -> Option<(u32, f32)> {
    let size = tree.size();
    let scale = f64::from(pixel_width) / f64::from(size.width());
    let height = (f64::from(size.height()) * scale).round().max(1.0);
    let pixels_max = f64::from(u32::try_from(PIXELS_MAX).ok()?);
    let fits = pixel_width > 0 && height * f64::from(pixel_width) <= pixels_max;
    fits.then_some((height as u32, scale as f32))
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
