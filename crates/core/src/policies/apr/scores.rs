//! The contest between the two policies of an object: who was right lately.

/// One of the two policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The default policy.
    Clock,
    /// The fallback policy.
    LifoPlus,
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::Clock => Side::LifoPlus,
            Side::LifoPlus => Side::Clock,
        }
    }
}

/// That a policy chose a page, and at which replacement of the page's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) by: Side,
    pub(super) at: u64,
}

/// The scores of an object. A score grows when the other policy comes to choose what its policy had chosen before, and
/// shrinks when a page is used again that its policy had chosen; the longer the choice was ago, the less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scores {
    pub(super) clock: f64,
    pub(super) lifo_plus: f64,
    /// Replacements begun so far.
    pub(super) replacements: u64,
}

impl Scores {
    /// Who decides; the default does among equals.
    pub(super) fn leader(&self) -> Side {
        if self.clock >= self.lifo_plus { Side::Clock } else { Side::LifoPlus }
    }

    /// A replacement begins.
    pub(super) fn begin(&mut self, decay: f64) {
        self.replacements += 1;
        self.clock *= decay;
        self.lifo_plus *= decay;
    }

    /// The other policy has come to the same choice.
    pub(super) fn credit(&mut self, record: Record, decay: f64) {
        *self.of(record.by) += self.weight(record, decay);
    }

    /// The page that was chosen is used.
    pub(super) fn punish(&mut self, record: Record, decay: f64) {
        *self.of(record.by) -= self.weight(record, decay);
    }

    fn weight(&self, record: Record, decay: f64) -> f64 {
        decay.powi(i32::try_from(self.replacements - record.at).unwrap_or(i32::MAX))
    }

    fn of(&mut self, side: Side) -> &mut f64 {
        match side {
            Side::Clock => &mut self.clock,
            Side::LifoPlus => &mut self.lifo_plus,
        }
    }
}
