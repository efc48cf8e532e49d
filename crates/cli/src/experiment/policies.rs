//! The policies of an experiment: of caches, or of paging, as its measure wants.

use hotset_core::paging::PagingSpec;
use hotset_core::policy::PolicySpec;
use hotset_core::spec::SpecError;

use super::measure::Measure;

/// Policies of either kind.
pub(super) enum Policies {
    Cache(Vec<PolicySpec>),
    Memory(Vec<PagingSpec>),
}

impl Policies {
    /// Reads policies separated by commas, of the kind that can be measured so.
    pub fn parse(measure: Measure, text: &str) -> Result<Policies, SpecError> {
        if measure.is_of_memory() {
            PagingSpec::parse_list(text).map(Policies::Memory)
        } else {
            PolicySpec::parse_list(text).map(Policies::Cache)
        }
    }

    /// Their names in results.
    pub fn names(&self) -> Vec<String> {
        match self {
            Policies::Cache(specs) => specs.iter().map(PolicySpec::to_string).collect(),
            Policies::Memory(specs) => specs.iter().map(PagingSpec::to_string).collect(),
        }
    }
}
