//! The requests of each application, in its own order.

use crate::bits;
use crate::cell::value_at;
use crate::references::References;

/// One request: a run of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Position of its first reference in the trace.
    pub first: u64,
    pub references: u32,
    pub is_write: bool,
    pub is_counted: bool,
    /// Its first reference reads the block to which the application referred just before.
    pub repeats: bool,
    /// When it was made in the trace; 0 without times.
    pub time: u64,
}

/// The requests of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lane {
    pub app: u32,
    pub runs: Vec<Run>,
}

/// One lane for each application that occurs, in the order of their first requests.
pub(super) fn lanes(references: &References) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut of_app: Vec<Option<usize>> = Vec::new();
    for window in references.windows() {
        let (mut apps, mut times) = (window.apps, window.times);
        for index in 0..window.keys.len() as u64 {
            let position = window.first + index;
            let app = value_at(&mut apps, position);
            let time = value_at(&mut times, position);
            let app_index = app as usize;
            if app_index >= of_app.len() {
                of_app.resize(app_index + 1, None);
            }
            let lane = *of_app[app_index].get_or_insert_with(|| {
                lanes.push(Lane { app, runs: Vec::new() });
                lanes.len() - 1
            });
            let goes_on = window.continues.is_some_and(|words| bits::get(words, index));
            match lanes[lane].runs.last_mut() {
                Some(run) if goes_on && run.first + u64::from(run.references) == position => run.references += 1,
                _ => {
                    let is_write = window.writes.is_some_and(|words| bits::get(words, index));
                    let is_counted = !window.uncounted.is_some_and(|words| bits::get(words, index));
                    let repeats = window.repeats.is_some_and(|words| bits::get(words, index));
                    let run = Run { first: position, references: 1, is_write, is_counted, repeats, time };
                    lanes[lane].runs.push(run);
                }
            }
        }
    }
    lanes
}
