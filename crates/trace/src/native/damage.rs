//! Damaged and missing parts, reported at the end.

/// The damaged and missing parts that a reader found.
#[derive(Default)]
pub(super) struct Damage {
    /// Damaged sections are passed over.
    pub(super) skip: bool,
    sections: u64,
    lost: u64,
    first: Option<String>,
    stopped: Option<String>,
}

impl Damage {
    /// Forgets what was found, not what to do about it: reading begins anew.
    pub(super) fn forget(&mut self) {
        *self = Damage { skip: self.skip, ..Damage::default() };
    }

    /// True if something has been passed over.
    pub(super) fn is_known(&self) -> bool {
        self.sections > 0
    }

    /// Sections passed over.
    pub(super) fn sections(&self) -> u64 {
        self.sections
    }

    /// Counts requests that a damaged section held.
    pub(super) fn lost(&mut self, requests: u64) {
        self.lost += requests;
    }

    /// Counts a section that is passed over; reading stops there unless it `goes_on`.
    pub(super) fn section(&mut self, offset: u64, fault: &str, goes_on: bool, requests: u64) {
        self.sections += 1;
        self.first.get_or_insert_with(|| format!("at byte {offset}: {fault}"));
        if !goes_on {
            self.stopped = Some(format!(
                "Reading stopped at byte {offset}, behind request {requests}: what follows cannot be found."
            ));
        }
    }

    /// Notes that the trace ends at `offset` without an end.
    pub(super) fn interrupted(&mut self, offset: u64, requests: u64) {
        self.stopped = Some(format!(
            "The recording was interrupted: {} requests were kept, all that is whole up to byte {offset}.",
            requests - self.lost
        ));
    }

    /// The sentences.
    pub(super) fn remarks(&self) -> Vec<String> {
        let passed = self.first.as_ref().map(|first| {
            let Damage { sections, lost, .. } = self;
            format!("Damaged sections passed over: {sections}, with {lost} requests lost that are known of; the first {first}.")
        });
        passed.into_iter().chain(self.stopped.clone()).collect()
    }
}
