//! Small pictures of an experiment, in dark and light, with the colours of Okabe and Ito: a panel a trace by size, or
//! at one size a line a trace or application; a panel a policy over time; a map a virtual queue.

mod heat;
mod panels;
mod rows;

use std::fmt::Write;

use super::page::{Experiment, Figure, Table};

/// Policies with a colour of their own; of more than these only a few have one.
const COLOURED: usize = 8;
/// Different hues, beside the one that stands out.
const HUES: usize = 5;
/// About the width of a letter.
const LETTER: f64 = 5.8;
/// The line over a picture.
const HEAD: f64 = 20.0;

const STYLE: &str = "\
text{font:11px system-ui,sans-serif;fill:#1b1f24}.s{fill:#667080}.g{stroke:#e4e7eb}polyline,circle,.k{fill:none;stroke-width:1.4}\
.a{stroke:#0072b2;stroke-width:2.2}.b{stroke:#667080;stroke-dasharray:5 4}.z{stroke:#c3cad3;stroke-width:1}\
.t{stroke-dasharray:none}.d{stroke-dasharray:1.5 2.5}.h{fill:#0072b2}.c0{stroke:#d55e00}.c1{stroke:#009e73}.c2{stroke:#cc79a7}.c3{stroke:#e69f00}.c4{stroke:#56b4e9}\
@media(prefers-color-scheme:dark){text{fill:#e7eaee}.s{fill:#98a2b0}.g{stroke:#2b3138}.a{stroke:#56b4e9}.b{stroke:#98a2b0}.z{stroke:#4a535e}.c4{stroke:#f0e442}.h{fill:#56b4e9}}";

/// Elements and their height.
struct Part {
    svg: String,
    height: f64,
}

/// A picture.
pub struct Picture {
    /// What tells its file from that of the experiment's first.
    pub suffix: &'static str,
    /// Its contents.
    pub measure: String,
    pub svg: String,
}

/// All that there is to draw.
pub fn draw(experiment: &Experiment) -> Vec<Picture> {
    [figures(experiment), over_time(experiment), queues(experiment)].into_iter().flatten().collect()
}

fn figures(experiment: &Experiment) -> Option<Picture> {
    let first = experiment.figures.first()?;
    let by_size = is_by_size(first);
    let figures: Vec<&Figure> = experiment.figures.iter().filter(|figure| is_by_size(figure) == by_size).collect();
    let policies = policies(first);
    let classes = classes(experiment, &policies);
    let width = if by_size { panels::width(figures.len()) } else { rows::WIDTH };
    let body = if by_size { panels::draw(&figures, &classes) } else { rows::draw(&figures, &classes) };
    let key = legend(&policies, &classes, width);
    Some(picture("", experiment, &first.measure, width, &body, &key))
}

/// A panel a policy, a line an application.
fn over_time(experiment: &Experiment) -> Option<Picture> {
    let first = experiment.over_time.first()?;
    let mut apps: Vec<String> = Vec::new();
    for row in experiment.over_time.iter().flat_map(|figure| &figure.table.rows) {
        if !apps.contains(&row[0]) {
            apps.push(row[0].clone());
        }
    }
    // In every panel an application has the same colour.
    let line = |figure: &Figure, app: &String| {
        let nothing = || vec!["-".to_owned(); figure.table.head.len()];
        figure.table.rows.iter().find(|row| row[0] == *app).cloned().unwrap_or_else(nothing)
    };
    let complete = |figure: &Figure| Figure {
        name: figure.name.clone(),
        measure: figure.measure.clone(),
        table: Table { head: figure.table.head.clone(), rows: apps.iter().map(|app| line(figure, app)).collect() },
    };
    let figures: Vec<Figure> = experiment.over_time.iter().map(complete).collect();
    let classes = classes(experiment, &apps);
    let width = panels::width(figures.len());
    let body = panels::draw(&figures.iter().collect::<Vec<_>>(), &classes);
    Some(picture("-over-time", experiment, &first.measure, width, &body, &legend(&apps, &classes, width)))
}

fn queues(experiment: &Experiment) -> Option<Picture> {
    let first = experiment.queues.first()?;
    let none = Part { svg: String::new(), height: 0.0 };
    Some(picture("-queue", experiment, &first.measure, heat::WIDTH, &heat::draw(&experiment.queues), &none))
}

/// The parts below a line that says what is shown.
fn picture(suffix: &'static str, of: &Experiment, measure: &str, width: f64, body: &Part, key: &Part) -> Picture {
    let height = HEAD + body.height + key.height;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\
         <title>{}</title><style>{STYLE}</style>\n<text class=\"s\" x=\"4\" y=\"12\">{}</text>\n",
        escaped(&of.title),
        escaped(&clipped(measure, (width / LETTER) as usize)),
    );
    svg.push_str(&body.svg);
    let _ = writeln!(svg, "<g transform=\"translate(4 {:.0})\">\n{}</g>\n</svg>", height - key.height + 12.0, key.svg);
    Picture { suffix, measure: measure.to_owned(), svg }
}

fn is_by_size(figure: &Figure) -> bool {
    figure.table.head[0] == "policy"
}

fn policies(figure: &Figure) -> Vec<String> {
    match is_by_size(figure) {
        true => figure.table.rows.iter().map(|row| row[0].clone()).collect(),
        false => figure.table.head[1..].to_vec(),
    }
}

/// The order of drawing policies: highlighted ones last, grey ones first.
fn order(classes: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by_key(|&at| (classes[at] == "a", classes[at] != "z"));
    order
}

/// How each policy is drawn: the one that is compared stands out, the bound is dashed, of many most are grey.
fn classes(experiment: &Experiment, policies: &[String]) -> Vec<String> {
    let compared = experiment.compared.as_ref().and_then(|table| table.rows.first());
    let better = compared.and_then(|row| row[0].split_once(" against ")).map(|(better, _)| better);
    let mut hues = 0;
    let class = |policy: &String| {
        // A line for each part of what moves has its name behind that of the policy.
        if better.is_some_and(|better| policy == better || policy.starts_with(&format!("{better}: "))) {
            return "a".to_owned();
        }
        if knows_future(policy) {
            return "b".to_owned();
        }
        if policies.len() > COLOURED && !["lru", "clock", "unix"].contains(&policy.as_str()) {
            return "z".to_owned();
        }
        hues += 1;
        // Lines after the last hue begin with the first again, dotted.
        format!("c{}{}", (hues - 1) % HUES, if hues > HUES { " d" } else { "" })
    };
    policies.iter().map(class).collect()
}

/// A bound, not a choice.
fn knows_future(policy: &str) -> bool {
    let name = policy.split(['(', ',']).next().unwrap_or_default();
    ["opt", "opt-bypass", "karma", "best"].contains(&name)
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

/// The key, in lines as wide as the picture.
fn legend(policies: &[String], classes: &[String], width: f64) -> Part {
    let (mut svg, mut x, mut y) = (String::new(), 0.0, 0.0);
    for (policy, class) in policies.iter().zip(classes) {
        let shown = clipped(policy, ((width - 42.0) / LETTER) as usize);
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
    Part { svg, height: y + 24.0 }
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
    fn hues_come_again_dotted_and_bounds_are_dashed() {
        let policies = ["a", "b", "c", "d", "e", "f", "best(lru)", "opt"].map(str::to_owned);
        assert_eq!(classes(&Experiment::default(), &policies), ["c0", "c1", "c2", "c3", "c4", "c0 d", "b", "b"]);
    }

    #[test]
    fn numbers_are_brief() {
        assert_eq!([0.0, 0.5, 1500.0, 20_000.0, 1.25e6].map(brief), ["0", "0.5", "1500", "20k", "1.25M"]);
    }
}
