//! A small chart a trace: a measure by size, a line a policy; or one a policy: a measure over time, a line an
//! application.

use std::fmt::Write;

use super::super::page::{Figure, number};
use super::{HEAD, Part, brief, clipped, escaped, order, ticks};

const COLUMNS: usize = 3;
const SIZE: (f64, f64) = (240.0, 150.0);
/// Around the lines: left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (42.0, 22.0, 12.0, 20.0);

/// A policy's places, from 0 to 1 across, and its values there.
type Points = Vec<(f64, f64)>;

/// A chart before it is drawn.
struct Panel<'a> {
    name: &'a str,
    /// The first and the last size as they are written.
    ends: (&'a str, &'a str),
    /// By policy.
    lines: Vec<Points>,
}

/// The width of so many: a legend needs two at least.
pub fn width(panels: usize) -> f64 {
    SIZE.0 * panels.clamp(2, COLUMNS) as f64
}

pub fn draw(figures: &[&Figure], classes: &[String]) -> Part {
    let panels: Vec<Panel> = figures.iter().filter_map(|figure| panel(figure, classes.len())).collect();
    let most = |panel: &Panel| panel.lines.iter().flatten().map(|&(_, y)| y).fold(0.0, f64::max);
    let all = panels.iter().map(most).fold(0.0, f64::max);
    // Shares are on one scale, amounts each on their own.
    let shares = figures.iter().all(|figure| figure.measure.contains(" in %"));
    let place = |at: usize| (SIZE.0 * (at % COLUMNS) as f64, HEAD + SIZE.1 * (at / COLUMNS) as f64);
    let drawn = panels
        .iter()
        .enumerate()
        .map(|(at, panel)| draw_panel(panel, place(at), if shares { all } else { most(panel) }, classes));
    Part { svg: drawn.collect(), height: SIZE.1 * panels.len().div_ceil(COLUMNS) as f64 }
}

/// Sizes lie on a logarithmic axis, or on a straight one where the last is less than 20 times the first.
fn panel<'a>(figure: &'a Figure, policies: usize) -> Option<Panel<'a>> {
    let sizes = &figure.table.head[1..];
    let places: Vec<f64> = sizes.iter().map(|size| number(size).unwrap_or(0.0)).collect();
    let (&from, &to) = (places.first()?, places.last()?);
    let place = |x: f64| match x {
        _ if to <= from => 0.5,
        x if from > 0.0 && to / from >= 20.0 => (x / from).ln() / (to / from).ln(),
        x => (x - from) / (to - from),
    };
    let points = |policy: usize| -> Points {
        let cells = figure.table.rows.get(policy).into_iter().flat_map(|row| &row[1..]);
        cells.zip(&places).filter_map(|(cell, &x)| Some((place(x), number(cell)?))).collect()
    };
    Some(Panel {
        // Of a trace's name without its format.
        name: if figure.table.head[0] == "policy" { figure.name.split('.').next()? } else { &figure.name },
        ends: (sizes.first()?, sizes.last()?),
        lines: (0..policies).map(points).collect(),
    })
}

fn draw_panel(panel: &Panel, (left, top): (f64, f64), most: f64, classes: &[String]) -> String {
    let (x0, y0) = (left + MARGIN.0, top + MARGIN.1);
    let (width, height) = (SIZE.0 - MARGIN.0 - MARGIN.2, SIZE.1 - MARGIN.1 - MARGIN.3);
    let scale = if most > 0.0 { most * 1.05 } else { 1.0 };
    let y = |value: f64| y0 + height * (1.0 - value / scale);
    let mut svg =
        format!("<text x=\"{:.1}\" y=\"{:.1}\">{}</text>\n", left + 4.0, top + 13.0, escaped(&clipped(panel.name, 36)));
    for tick in ticks(most) {
        let at = y(tick);
        let _ = writeln!(
            svg,
            "<path class=\"g\" d=\"M{x0:.1} {at:.1}h{width:.1}\"/><text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            x0 - 5.0,
            at + 4.0,
            brief(tick)
        );
    }
    let under = y0 + height + 14.0;
    let (from, to) = (escaped(&clipped(panel.ends.0, 14)), escaped(&clipped(panel.ends.1, 14)));
    let _ = writeln!(
        svg,
        "<text class=\"s\" x=\"{x0:.1}\" y=\"{under:.1}\">{from}</text><text class=\"s\" x=\"{:.1}\" y=\"{under:.1}\" text-anchor=\"end\">{to}</text>",
        x0 + width
    );
    for at in order(classes) {
        let class = &classes[at];
        let places: Vec<(f64, f64)> = panel.lines[at].iter().map(|&(x, value)| (x0 + x * width, y(value))).collect();
        if let [(x, y)] = places[..] {
            let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
        } else {
            let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
        }
    }
    svg
}
