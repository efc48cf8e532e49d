//! Repartitions of a scheme among applications, and the listeners for them.

use std::sync::mpsc::Sender;

use hotset_core::policy::{PartRoom, Repartition};

/// The division that holds, and how often it has changed.
#[derive(Default)]
pub(crate) struct Division {
    /// One for each application that there is; empty as long as nothing was divided.
    pub parts: Vec<PartRoom>,
    pub changes: u64,
    pub listener: Option<Sender<Repartition>>,
}

impl Division {
    /// Takes note of a decision. One that leaves everything as it is is none.
    pub fn note(&mut self, decision: &Repartition) {
        if self.parts == decision.parts {
            return;
        }
        self.parts.clone_from(&decision.parts);
        self.changes += 1;
        if let Some(listener) = &self.listener {
            // A receiver that has ended is ignored.
            let _ = listener.send(decision.clone());
        }
    }
}
