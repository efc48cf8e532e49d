//! Models of storage by their words.

use hotset_core::storage::StorageModel;

use crate::failure::Failure;

/// The model whose words stand at `place`, if any do.
pub(crate) fn read(place: &str, text: Option<&str>) -> Result<Option<StorageModel>, Failure> {
    let parse = |text| StorageModel::parse(text).map_err(|error| Failure::spec(place, text, &error));
    text.map(parse).transpose()
}
