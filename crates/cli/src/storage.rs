//! Models of storage by their words.

use hotset_core::storage::Store;

use crate::failure::Failure;

/// The model whose words stand at `place`, if any do.
pub(crate) fn read(place: &str, text: Option<&str>) -> Result<Option<Store>, Failure> {
    let parse = |text| Store::parse(text).map_err(|error| Failure::spec(place, text, &error));
    text.map(parse).transpose()
}
