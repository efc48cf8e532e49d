//! Where virtual queues are hit over time: a map a queue, its head at the lower edge, the darker the more of its value
//! lies there.

use std::fmt::Write;

use super::super::page::{Figure, number};
use super::{HEAD, Part, clipped, escaped};

pub const WIDTH: f64 = 480.0;
/// Of positions on the left, and what is free on the right.
const SIDES: (f64, f64) = (52.0, 16.0);
const BAND: f64 = 9.0;
/// Over a map: its name; under it: the axis.
const AROUND: (f64, f64) = (22.0, 26.0);
/// Bands from one labelled position to the next.
const TOLD: usize = 4;

/// The maps one below the other.
pub fn draw(queues: &[Figure]) -> Part {
    let mut part = Part { svg: String::new(), height: 0.0 };
    for queue in queues {
        part.svg.push_str(&draw_queue(queue, HEAD + part.height));
        part.height += AROUND.0 + BAND * queue.table.rows.len() as f64 + AROUND.1;
    }
    part
}

fn draw_queue(queue: &Figure, top: f64) -> String {
    let bands = &queue.table.rows;
    let stretches = &queue.table.head[1..];
    let width = (WIDTH - SIDES.0 - SIDES.1) / stretches.len().max(1) as f64;
    let floor = top + AROUND.0 + BAND * bands.len() as f64;
    let mut svg = format!("<text x=\"4\" y=\"{:.1}\">{}</text>\n", top + 13.0, escaped(&clipped(&queue.name, 70)));
    for (band, row) in bands.iter().enumerate() {
        let y = floor - BAND * (band + 1) as f64;
        if band % TOLD == 0 {
            let position = row[0].trim_start_matches("from ");
            let _ = writeln!(
                svg,
                "<path class=\"g\" d=\"M{:.1} {:.1}H{:.1}\"/><text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                SIDES.0,
                y + BAND,
                WIDTH - SIDES.1,
                SIDES.0 - 5.0,
                y + BAND + 3.0,
                escaped(position)
            );
        }
        for (at, cell) in row[1..].iter().enumerate() {
            let Some(share) = number(cell).filter(|&share| share > 0.0) else { continue };
            let _ = writeln!(
                svg,
                "<path class=\"h\" fill-opacity=\"{:.2}\" d=\"M{:.1} {y:.1}h{width:.1}v{BAND}h-{width:.1}z\"/>",
                (share / 100.0).clamp(0.02, 1.0),
                SIDES.0 + width * at as f64
            );
        }
    }
    for (at, anchor) in [(0, "start"), (stretches.len().saturating_sub(1), "end")] {
        let x = SIDES.0 + if anchor == "start" { 0.0 } else { width * stretches.len() as f64 };
        let end = stretches.get(at).map_or("", String::as_str);
        let _ = writeln!(
            svg,
            "<text class=\"s\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">until {}</text>",
            floor + 14.0,
            escaped(end)
        );
    }
    svg
}
