//! The requests of each application, in its own order.

use crate::bits;
use crate::window::{What, Window, value_at};

/// One request: a run of references; or an event between references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Position of its first reference in the trace.
    pub first: u64,
    pub references: u32,
    pub is_write: bool,
    pub is_counted: bool,
    /// When it was made in the trace; 0 without times.
    pub time: u64,
    /// What happens instead of references, by its number in the window.
    pub event: Option<usize>,
}

/// The requests of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lane {
    pub app: u32,
    pub runs: Vec<Run>,
}

/// One lane for each application that occurs, in the order of their first requests.
pub(super) fn lanes<K>(window: &Window<K>) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut of_app: Vec<Option<usize>> = Vec::new();
    walk(window, |app, run| {
        let index = app as usize;
        if index >= of_app.len() {
            of_app.resize(index + 1, None);
        }
        let lane = *of_app[index].get_or_insert_with(|| {
            lanes.push(Lane { app, runs: Vec::new() });
            lanes.len() - 1
        });
        lanes[lane].runs.push(run);
    });
    lanes
}

/// Visits requests and removals of a window in the order of the trace, each with its application.
pub(super) fn walk<K>(window: &Window<K>, mut visit: impl FnMut(u32, Run)) {
    let is = |column: Option<&[u64]>, index| column.is_some_and(|words| bits::get(words, index));
    let (mut apps, mut times) = (window.apps, window.times);
    let removals = window.events.iter().enumerate().filter(|(_, event)| !matches!(event.what, What::Elsewhere(_)));
    let mut removals = removals.peekable();
    let mut open: Option<(u32, Run)> = None;
    let len = window.keys.len() as u64;
    for index in 0..=len {
        let position = window.first + index;
        while let Some((number, event)) = removals.next_if(|(_, event)| event.at <= position) {
            open.take().into_iter().for_each(|(app, run)| visit(app, run));
            let run = Run {
                first: position,
                references: 0,
                is_write: false,
                is_counted: true,
                time: event.time,
                event: Some(number),
            };
            visit(event.app, run);
        }
        if index == len {
            break;
        }
        let app = value_at(&mut apps, position);
        let time = value_at(&mut times, position);
        match &mut open {
            Some((of, run)) if *of == app && is(window.continues, index) => run.references += 1,
            _ => {
                let run = Run {
                    first: position,
                    references: 1,
                    is_write: is(window.writes, index),
                    is_counted: !is(window.uncounted, index),
                    time,
                    event: None,
                };
                open.replace((app, run)).into_iter().for_each(|(app, run)| visit(app, run));
            }
        }
    }
    open.into_iter().for_each(|(app, run)| visit(app, run));
}
