//! hotset in Python: the native module that the package `hotset` calls. The libraries do the work; this module converts
//! arguments and results.

mod advise;
mod cache;
mod cached;
mod columns;
mod curve;
mod driven;
mod experiment;
mod failure;
mod inspect;
mod key;
mod making;
mod opener;
mod part;
mod policies;
#[cfg(target_os = "linux")]
mod recording;
mod rows;
mod run;
mod selection;
mod simulate;
mod trace;
mod turn;

use pyo3::prelude::*;

// One thread at a time holds the interpreter: `turn` counts on it.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    hotset_core::setting::spell_as(failure::spelling);
    module.add("Error", module.py().get_type::<failure::Error>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<cache::Cache>()?;
    module.add_class::<cached::Cached>()?;
    module.add_function(wrap_pyfunction!(policies::policies, module)?)?;
    module.add_class::<driven::Driven>()?;
    module.add_function(wrap_pyfunction!(driven::driven, module)?)?;
    module.add_class::<experiment::Experiment>()?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::planned, module)?)?;
    module.add_function(wrap_pyfunction!(selection::bytes_of, module)?)?;
    module.add_function(wrap_pyfunction!(selection::budget, module)?)?;
    module.add_function(wrap_pyfunction!(curve::curve, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(advise::advise, module)?)?;
    module.add_function(wrap_pyfunction!(making::mix, module)?)?;
    module.add_function(wrap_pyfunction!(making::write, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(recording::record, module)?)?;
    module.add_function(wrap_pyfunction!(rows::columns, module)?)?;
    module.add_function(wrap_pyfunction!(rows::parquet, module)?)
}
