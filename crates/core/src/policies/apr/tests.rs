//! The figures of the thesis.

use super::scores::Scores;
use super::*;
use crate::policy::{Catalog, NoEffects};
use crate::spec::Value;

const A: Slot = 0;
const B: Slot = 1;
const C: Slot = 2;
const D: Slot = 3;
const E: Slot = 4;
const F: Slot = 5;
const G: Slot = 6;

/// Scores of 0.6 and 0.4 after 11 replacements, and what was judged since.
fn scores(apr: &Apr) -> (f64, f64) {
    let scores = &apr.memory.objects[DEFAULT as usize].scores;
    let [clock, lifo_plus] = scores.in_window(0.5);
    let faded = 0.5f64.powi(scores.replacements as i32 - 11);
    (0.6 * faded + clock, 0.4 * faded + lifo_plus)
}

/// The page came back from disk.
fn fetch(apr: &mut Apr, page: Slot) {
    apr.memory.punish(page);
    apr.memory.drop_ghost(page);
    apr.memory.enter(page, DEFAULT, false, &mut NoEffects);
}

/// Figure 3.4: scores at the start of each replacement, who is evicted, with a decay of 0.5.
#[test]
fn the_figure_to_the_last_digit() {
    let mut args = Args::defaults(Apr::INFO.params, Catalog::EMPTY, Some(4096));
    args.set("decay", Value::Number(0.5)).unwrap();
    let mut apr = Apr::new(&Setup::new(&args, 7, 7, 1)).unwrap();
    for page in [A, B, C, D, E, F, G] {
        apr.memory.enter(page, DEFAULT, false, &mut NoEffects);
    }
    apr.memory.objects[DEFAULT as usize].scores = Scores::with(0.6 - 0.4, 11);

    assert_eq!(apr.replace(A, B, &mut NoEffects), Some(A), "replacement 12");
    assert_eq!(scores(&apr), (0.3, 0.2));
    assert_eq!(apr.replace(B, C, &mut NoEffects), Some(B), "replacement 13");
    assert_eq!(scores(&apr), (0.15, 0.6));
    assert_eq!(apr.replace(D, E, &mut NoEffects), Some(E), "replacement 14");
    fetch(&mut apr, A);
    assert_eq!(scores(&apr), (-0.175, 0.3));
    assert_eq!(apr.replace(C, F, &mut NoEffects), Some(F), "replacement 15");
    assert!(
        apr.contains(C) && apr.memory.pages[C as usize].record.is_none(),
        "C stays, and the choice of it is settled"
    );
    assert_eq!(scores(&apr), (-0.0875, 0.4));
    assert_eq!(apr.replace(G, A, &mut NoEffects), Some(A), "replacement 16");
    assert_eq!(scores(&apr), (-0.04375, 0.2));
    apr.validate();
}
