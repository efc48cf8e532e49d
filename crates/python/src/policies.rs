//! The policies, as the registry lists them.

use hotset_core::registry;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Name, family, aliases, summary, parameters and explanation of each.
#[pyfunction]
pub fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    registry::all()
        .map(|entry| {
            let info = entry.info;
            let about = PyDict::new(py);
            about.set_item("name", info.name)?;
            about.set_item("aliases", info.aliases.to_vec())?;
            about.set_item("family", info.family)?;
            about.set_item("summary", info.summary)?;
            about.set_item("offline", info.offline)?;
            about.set_item("doc", entry.doc())?;
            let parameters: PyResult<Vec<Bound<'_, PyDict>>> = info
                .params
                .iter()
                .map(|param| {
                    let about = PyDict::new(py);
                    about.set_item("name", param.key)?;
                    about.set_item("default", param.default)?;
                    about.set_item("takes", param.kind.to_string())?;
                    about.set_item("doc", param.doc)?;
                    Ok(about)
                })
                .collect();
            about.set_item("parameters", parameters?)?;
            Ok(about)
        })
        .collect()
}
