//! Reference models of the paging policies: written from their statements, on vectors and sorted maps, deliberately slow.

use hotset_core::paging::Object;
use hotset_core::policy::Args;

mod apr;
mod car;
mod clock;
mod clock_pro;
mod fifo;
mod lifo_plus;
mod opt;
mod random;
mod seq;

/// All that a model is built from.
pub struct Given<'a> {
    /// Pages that may be resident.
    pub frames: usize,
    /// The policy's parameters.
    pub args: &'a Args,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The address of each page.
    pub addresses: &'a [u64],
}

/// What the model may look at during a fault.
pub struct Sight<'a> {
    /// The access bits, by page.
    pub bits: &'a mut Vec<bool>,
    /// The pages that will be referenced, the next one first.
    pub future: &'a [u32],
}

impl Sight<'_> {
    /// Tests the bit of a page and clears it.
    pub fn test_and_clear(&mut self, page: u32) -> bool {
        std::mem::take(&mut self.bits[page as usize])
    }
}

/// A slow reference model of a paging policy.
pub trait Model {
    /// An empty memory.
    fn new(given: &Given<'_>) -> Self
    where
        Self: Sized;

    /// Fetches `page`, whose bit is set; gives the page that left.
    fn fault(&mut self, page: u32, object: Option<Object>, sight: &mut Sight<'_>) -> Option<u32>;

    /// The memory of `page` was freed.
    fn free(&mut self, page: u32);
}

/// Builds a model.
type Build = fn(&Given<'_>) -> Box<dyn Model>;

/// Every model under the name of its policy.
static MODELS: &[(&str, Build)] = &[
    ("apr", build::<apr::Apr>),
    ("car", build::<car::Car>),
    ("clock", build::<clock::Clock>),
    ("clock-pro", build::<clock_pro::ClockPro>),
    ("fifo", build::<fifo::Fifo>),
    ("lifo+", build::<lifo_plus::LifoPlus>),
    ("opt", build::<opt::Opt>),
    ("random", build::<random::Random>),
    ("seq", build::<seq::Seq>),
];

/// Builds the model of the policy with this name; `None` if it has none.
pub fn model(name: &str, given: &Given<'_>) -> Option<Box<dyn Model>> {
    MODELS.iter().find(|(known, _)| *known == name).map(|(_, build)| build(given))
}

fn build<M: Model + 'static>(given: &Given<'_>) -> Box<dyn Model> {
    Box::new(M::new(given))
}
