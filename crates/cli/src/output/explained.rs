//! What policies have learnt, in words.

use hotset_core::policy::Explained;

use super::style::{Role, cell};
use super::{human, table};

/// Lines of a table, at most.
const MOST: usize = 12;

/// Chances of use as heights.
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A probability too small to show.
const LEAST: f64 = 0.01;

/// The most important of what a policy has learnt, and how much more there is.
pub(crate) fn table(all: &[Explained]) -> String {
    let shown = &all[..all.len().min(MOST)];
    let ages = ages(shown);
    let curve_title = format!("chance of use, by age 1…{}", human::count(1 << ages.saturating_sub(1)));
    let mut table =
        table::numbers(&["blocks", "came to be used", "room", "references", &curve_title, "treatment"], 2..4);
    for one in shown {
        let percent = |percent: f64| cell(format!("{percent:.1} %"), Role::Plain);
        table.add_row([
            cell(one.whose(), Role::Plain),
            cell(&one.came, Role::Plain),
            percent(one.room_percent),
            percent(one.references_percent),
            cell(curve(one, ages), Role::Plain),
            cell(one.treatment, Role::Plain),
        ]);
    }
    let rest = &all[shown.len()..];
    let sum = |figure: fn(&Explained) -> f64| rest.iter().map(figure).sum::<f64>();
    match rest.len() {
        0 => table.to_string(),
        more => format!(
            "{table}\n{more} more, with {:.1} % of the room and {:.1} % of the references",
            sum(|one| one.room_percent),
            sum(|one| one.references_percent)
        ),
    }
}

/// A line for each of the most important.
pub(crate) fn lines(all: &[Explained], most: usize) -> Vec<String> {
    let line = |one: &Explained| {
        let shares = format!("room {:.1} %, references {:.1} %", one.room_percent, one.references_percent);
        format!("{}, {}: {shares}: {}", one.whose(), one.came, one.treatment)
    };
    all.iter().take(most).map(line).collect()
}

/// Octaves of ages from 1 on until nothing comes back any more.
fn ages(shown: &[Explained]) -> usize {
    let last = |one: &Explained| one.reuse.iter().rev().find(|(_, chance)| *chance >= LEAST).map_or(1, |(age, _)| *age);
    let last = shown.iter().map(last).max().unwrap_or(1);
    last.max(1).ilog2() as usize + 1
}

/// The chance of use in each octave of ages, as a picture.
fn curve(one: &Explained, octaves: usize) -> String {
    let chance = |octave: usize| {
        let ages = 1 << octave..2 << octave;
        let within = one.reuse.iter().filter(|(age, _)| ages.contains(age));
        1.0 - within.map(|(_, chance)| 1.0 - chance).product::<f64>()
    };
    let height = |chance: f64| match chance {
        chance if chance < LEAST => HEIGHTS[0],
        chance => HEIGHTS[((chance * 8.0).ceil() as usize).clamp(1, 8)],
    };
    (0..octaves).map(|octave| height(chance(octave))).collect()
}

#[cfg(test)]
mod tests {
    use hotset_core::policy::Treatment;

    use super::*;

    fn one(file: &str, reuse: &[(u32, f64)]) -> Explained {
        Explained {
            app: None,
            files: None,
            file: Some(file.to_owned()),
            came: "first use".to_owned(),
            room_percent: 12.5,
            references_percent: 40.0,
            reuse: reuse.to_vec(),
            treatment: Treatment::KeepSome,
        }
    }

    #[test]
    fn curves_are_pictures_of_octaves() {
        let known = [one("a", &[(0, 0.9), (1, 0.5), (2, 0.25), (3, 0.0), (4, 0.001), (8, 1.0), (16, 0.0)])];
        assert_eq!((ages(&known), curve(&known[0], 4)), (4, "▄▂ █".to_owned()));
        assert_eq!((ages(&[]), curve(&one("b", &[]), 2)), (1, "  ".to_owned()));
    }

    #[test]
    fn what_is_not_shown_is_summed() {
        let known: Vec<Explained> = (0..14).map(|number| one(&format!("f{number}"), &[])).collect();
        let text = table(&known);
        assert!(text.contains("f11") && !text.contains("f12"), "{text}");
        assert!(text.ends_with("2 more, with 25.0 % of the room and 80.0 % of the references"), "{text}");
        let line = "f0, first use: room 12.5 %, references 40.0 %: keeps those that it has, lets others pass";
        assert_eq!(lines(&known, 1), [line]);
    }
}
