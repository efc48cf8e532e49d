//! The figures of the thesis.

use super::*;
use crate::policy::{Args, Catalog};
use crate::spec::Value;

/// A machine whose bits are all clear.
struct Idle;

impl Machine for Idle {
    fn test_and_clear(&mut self, _: Page) -> bool {
        false
    }

    fn next_use(&mut self, _: Page) -> Option<u64> {
        unreachable!("APR does not know the future")
    }
}

const A: Page = 0;
const B: Page = 1;
const C: Page = 2;
const D: Page = 3;
const E: Page = 4;
const F: Page = 5;
const G: Page = 6;

fn scores(apr: &Apr) -> (f64, f64) {
    let scores = &apr.memory.objects[DEFAULT as usize].scores;
    (scores.clock, scores.lifo_plus)
}

/// The page came back from disk.
fn fetch(apr: &mut Apr, page: Page) {
    apr.memory.punish(page);
    apr.memory.forget(page);
    apr.memory.enter(page, DEFAULT, &mut Idle);
}

/// Figure 3.4: scores at the start of each replacement, who is evicted, with a decay of 0.5.
#[test]
fn the_figure_to_the_last_digit() {
    let mut args = Args::defaults(Apr::INFO.params, Catalog::EMPTY, Some(4096));
    args.set("decay", Value::Number(0.5)).unwrap();
    let setup = Setup { frames: 7, addresses: &[0, 1, 2, 3, 4, 5, 6], seed: 1, args: &args };
    let mut apr = Apr::new(&setup).unwrap();
    for page in [A, B, C, D, E, F, G] {
        apr.memory.enter(page, DEFAULT, &mut Idle);
    }
    let start = &mut apr.memory.objects[DEFAULT as usize].scores;
    (start.clock, start.lifo_plus, start.replacements) = (0.6, 0.4, 11);

    assert_eq!(apr.replace(A, B), Some(A), "replacement 12");
    assert_eq!(scores(&apr), (0.3, 0.2));
    assert_eq!(apr.replace(B, C), Some(B), "replacement 13");
    assert_eq!(scores(&apr), (0.15, 0.6));
    assert_eq!(apr.replace(D, E), Some(E), "replacement 14");
    fetch(&mut apr, A);
    assert_eq!(scores(&apr), (-0.175, 0.3));
    assert_eq!(apr.replace(C, F), Some(F), "replacement 15");
    assert!(
        apr.contains(C) && apr.memory.pages[C as usize].record.is_none(),
        "C stays, and the choice of it is settled"
    );
    assert_eq!(scores(&apr), (-0.0875, 0.4));
    assert_eq!(apr.replace(G, A), Some(A), "replacement 16");
    assert_eq!(scores(&apr), (-0.04375, 0.2));
    apr.validate();
}
