//! At one size: a line a trace or application, a mark a policy on it.

use std::fmt::Write;

use super::super::page::{Figure, number};
use super::{HEAD, Part, brief, clipped, escaped, order, ticks};

pub const WIDTH: f64 = 480.0;
/// Of names on the left, and what is free on the right.
const SIDES: (f64, f64) = (130.0, 16.0);
const ROW: f64 = 18.0;
/// Over the lines of a figure: its name and the axis.
const OVER: f64 = 36.0;

/// The figures one below the other.
pub fn draw(figures: &[&Figure], classes: &[String]) -> Part {
    let mut part = Part { svg: String::new(), height: 0.0 };
    for figure in figures {
        part.svg.push_str(&draw_figure(figure, HEAD + part.height, classes));
        part.height += OVER + ROW * figure.table.rows.len() as f64;
    }
    part
}

fn draw_figure(figure: &Figure, top: f64, classes: &[String]) -> String {
    let most = figure.table.rows.iter().flat_map(|row| &row[1..]).filter_map(|cell| number(cell)).fold(0.0, f64::max);
    let scale = if most > 0.0 { most } else { 1.0 };
    let x = |value: f64| SIDES.0 + (WIDTH - SIDES.0 - SIDES.1) * value / scale;
    let (first, length) = (top + OVER, ROW * figure.table.rows.len() as f64);
    let mut svg = format!("<text x=\"4\" y=\"{:.1}\">{}</text>\n", top + 13.0, escaped(&clipped(&figure.name, 60)));
    for tick in ticks(most) {
        let at = x(tick);
        let _ = writeln!(
            svg,
            "<path class=\"g\" d=\"M{at:.1} {:.1}v{length:.1}\"/><text class=\"s\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            first - 4.0,
            top + 28.0,
            brief(tick)
        );
    }
    for (at, row) in figure.table.rows.iter().enumerate() {
        let y = first + ROW * at as f64 + 6.0;
        let _ = writeln!(svg, "<text x=\"4\" y=\"{:.1}\">{}</text>", y + 4.0, escaped(&clipped(&row[0], 20)));
        let _ = writeln!(svg, "<path class=\"g\" d=\"M{:.1} {y:.1}H{:.1}\"/>", SIDES.0, WIDTH - SIDES.1);
        for policy in order(classes) {
            let Some(x) = row.get(1 + policy).and_then(|cell| number(cell)).map(x) else { continue };
            let _ = match classes[policy].as_str() {
                "b" => writeln!(svg, "<path class=\"k b t\" d=\"M{x:.1} {:.1}v10\"/>", y - 5.0),
                class => writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"),
            };
        }
    }
    svg
}
