//! A small picture of an experiment: a panel a trace, in dark and light, with the colours of Okabe and Ito.

use std::fmt::Write;

use super::page::{Experiment, Figure, number};

const COLUMNS: usize = 3;
const PANEL: (f64, f64) = (240.0, 150.0);
/// Of a panel, around its lines: left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (42.0, 22.0, 12.0, 20.0);
/// Policies with a colour of their own; of more than these only a few have one.
const COLOURED: usize = 8;
/// About the width of a letter.
const LETTER: f64 = 5.8;

const STYLE: &str = "\
text{font:11px system-ui,sans-serif;fill:#1b1f24}.s{fill:#667080}.g{stroke:#e4e7eb}polyline,circle,.k{fill:none;stroke-width:1.4}\
.a{stroke:#0072b2;stroke-width:2.2}.b{stroke:#667080;stroke-dasharray:5 4}.z{stroke:#c3cad3;stroke-width:1}\
.c0{stroke:#d55e00}.c1{stroke:#009e73}.c2{stroke:#cc79a7}.c3{stroke:#e69f00}.c4{stroke:#56b4e9}\
@media(prefers-color-scheme:dark){text{fill:#e7eaee}.s{fill:#98a2b0}.g{stroke:#2b3138}.a{stroke:#56b4e9}.b{stroke:#98a2b0}.z{stroke:#4a535e}.c4{stroke:#f0e442}}";

/// Points of a policy in a panel: a place and a value.
type Points = Vec<(f64, f64)>;

/// A panel before it is drawn.
struct Panel<'a> {
    name: &'a str,
    /// Where the first and the last size lie, as they are written.
    ends: (String, String),
    /// By policy.
    lines: Vec<Points>,
    /// Places have no order: points stand alone.
    scattered: bool,
}

/// The picture; `None` where there is nothing to draw.
pub fn draw(experiment: &Experiment) -> Option<String> {
    let first = experiment.figures.first()?;
    let policies = policies(first);
    let classes = classes(experiment, &policies);
    let panels: Vec<Panel> = experiment.figures.iter().flat_map(|figure| panels(figure, policies.len())).collect();
    let most = |panel: &Panel| panel.lines.iter().flatten().map(|&(_, y)| y).fold(0.0, f64::max);
    let all = panels.iter().map(most).fold(0.0, f64::max);
    let columns = panels.len().min(COLUMNS);
    let width = PANEL.0 * columns.max(2) as f64;
    let (key, key_height) = legend(&policies, &classes, width);
    let height = 20.0 + PANEL.1 * panels.len().div_ceil(columns) as f64 + key_height;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\
         <title>{}</title><style>{STYLE}</style>\n<text class=\"s\" x=\"4\" y=\"12\">{}</text>\n",
        escaped(&experiment.title),
        escaped(&clipped(&first.measure, (width / LETTER) as usize)),
    );
    for (at, panel) in panels.iter().enumerate() {
        let corner = (PANEL.0 * (at % columns) as f64, 20.0 + PANEL.1 * (at / columns) as f64);
        // Shares are on one scale, amounts each on their own.
        let top = if first.measure.contains(" in %") { all } else { most(panel) };
        svg.push_str(&draw_panel(panel, corner, top, &classes));
    }
    let _ = writeln!(svg, "<g transform=\"translate(4 {:.0})\">\n{key}</g>\n</svg>", height - key_height + 12.0);
    Some(svg)
}

fn is_by_trace(figure: &Figure) -> bool {
    figure.table.head[0] == "trace"
}

fn policies(figure: &Figure) -> Vec<String> {
    match is_by_trace(figure) {
        true => figure.table.head[1..].to_vec(),
        false => figure.table.rows.iter().map(|row| row[0].clone()).collect(),
    }
}

/// The panels of a table. By size: one, its sizes on a logarithmic axis, or a straight one where the last is less than 20 times the first. At one size: one, a step a trace, without lines.
fn panels(figure: &Figure, policies: usize) -> Vec<Panel<'_>> {
    let table = &figure.table;
    let by_trace = is_by_trace(figure);
    let places: Vec<f64> = match by_trace {
        true => (0..table.rows.len()).map(|at| at as f64).collect(),
        false => table.head[1..].iter().map(|size| number(size).unwrap_or(0.0)).collect(),
    };
    let (Some(&from), Some(&to)) = (places.first(), places.last()) else { return Vec::new() };
    let place = |at: usize| match places[at] {
        _ if to <= from => 0.5,
        x if from > 0.0 && to / from >= 20.0 => (x / from).ln() / (to / from).ln(),
        x => (x - from) / (to - from),
    };
    let cell = |policy: usize, at: usize| {
        let row = if by_trace { table.rows.get(at)? } else { table.rows.get(policy)? };
        number(row.get(1 + if by_trace { policy } else { at })?)
    };
    let points = |policy: usize| (0..places.len()).filter_map(|at| Some((place(at), cell(policy, at)?))).collect();
    let label = |at: usize| if by_trace { table.rows[at][0].clone() } else { table.head[1 + at].clone() };
    let name = if by_trace { &figure.name } else { figure.name.split('.').next().unwrap_or(&figure.name) };
    vec![Panel {
        name,
        ends: (label(0), label(places.len() - 1)),
        lines: (0..policies).map(points).collect(),
        scattered: by_trace,
    }]
}

/// How each policy is drawn: the one that is compared stands out, the bound is dashed, of many most are grey.
fn classes(experiment: &Experiment, policies: &[String]) -> Vec<String> {
    let compared = experiment.compared.as_ref().and_then(|table| table.rows.first());
    let better = compared.and_then(|row| row[0].split_once(" against ")).map(|(better, _)| better);
    let mut hues = 0;
    let class = |policy: &String| {
        if Some(policy.as_str()) == better {
            return "a".to_owned();
        }
        if policy == "opt" || policy.starts_with("opt-bypass") || policy.starts_with("opt(") {
            return "b".to_owned();
        }
        if policies.len() > COLOURED && !["lru", "clock", "unix"].contains(&policy.as_str()) {
            return "z".to_owned();
        }
        hues += 1;
        format!("c{}", (hues - 1) % 5)
    };
    policies.iter().map(class).collect()
}

fn draw_panel(panel: &Panel, (left, top): (f64, f64), most: f64, classes: &[String]) -> String {
    let (x0, y0) = (left + MARGIN.0, top + MARGIN.1);
    let (width, height) = (PANEL.0 - MARGIN.0 - MARGIN.2, PANEL.1 - MARGIN.1 - MARGIN.3);
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
    let (from, to) = (escaped(&clipped(&panel.ends.0, 14)), escaped(&clipped(&panel.ends.1, 14)));
    let _ = writeln!(
        svg,
        "<text class=\"s\" x=\"{x0:.1}\" y=\"{under:.1}\">{from}</text><text class=\"s\" x=\"{:.1}\" y=\"{under:.1}\" text-anchor=\"end\">{to}</text>",
        x0 + width
    );
    // What stands out is drawn last.
    let mut order: Vec<usize> = (0..panel.lines.len()).collect();
    order.sort_by_key(|&at| (classes[at] == "a", classes[at] != "z"));
    for at in order {
        let class = &classes[at];
        let places = panel.lines[at].iter().map(|&(x, value)| (x0 + x * width, y(value)));
        if panel.scattered {
            for (x, y) in places {
                let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
            }
        } else {
            let points: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
        }
    }
    svg
}

/// Round values from 0 to `most`: three or four.
fn ticks(most: f64) -> Vec<f64> {
    if !(most > 0.0 && most.is_finite()) {
        return vec![0.0];
    }
    let power = 10f64.powf((most / 2.5).log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|unit| unit * power).find(|step| most / step <= 3.0).unwrap_or(most);
    (0..=3).map(|at| f64::from(at) * step).take_while(|&tick| tick <= most * 1.001).collect()
}

/// A number in few characters.
fn brief(value: f64) -> String {
    let (value, unit) = match value {
        value if value >= 1e9 => (value / 1e9, "G"),
        value if value >= 1e6 => (value / 1e6, "M"),
        value if value >= 1e4 => (value / 1e3, "k"),
        value => (value, ""),
    };
    let digits = format!("{value:.2}");
    format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// The key, in lines as wide as the picture, and its height.
fn legend(policies: &[String], classes: &[String], width: f64) -> (String, f64) {
    let (mut svg, mut x, mut y) = (String::new(), 0.0, 0.0);
    for (policy, class) in policies.iter().zip(classes) {
        let shown = clipped(policy, 40);
        let needed = 34.0 + LETTER * shown.chars().count() as f64;
        if x > 0.0 && x + needed > width - 8.0 {
            (x, y) = (0.0, y + 16.0);
        }
        let _ = writeln!(
            svg,
            "<path class=\"k {class}\" d=\"M{x:.0} {:.0}h16\"/><text x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
            y - 4.0,
            x + 20.0,
            escaped(&shown)
        );
        x += needed;
    }
    (svg, y + 24.0)
}

fn clipped(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(100.0), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(76.13), [0.0, 50.0]);
        assert_eq!(ticks(0.7), [0.0, 0.5]);
        assert_eq!(ticks(0.0), [0.0]);
        assert!((1..2000).all(|value| (2..=4).contains(&ticks(f64::from(value)).len())));
    }

    #[test]
    fn numbers_are_brief() {
        assert_eq!([0.0, 0.5, 1500.0, 20_000.0, 1.25e6].map(brief), ["0", "0.5", "1500", "20k", "1.25M"]);
    }
}
