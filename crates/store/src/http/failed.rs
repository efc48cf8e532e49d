//! The error of a failed request.
//!
//! Answers of stores repeat the request: keys of credentials, signatures, all of it. So only the status of an answer is
//! passed on, and of failures on the way only the operating system's error.

use std::error::Error;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};

use crate::error::StoreError;

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> StoreError {
        use object_store::Error::{
            NotFound, NotModified, NotSupported, PermissionDenied, Precondition, Unauthenticated,
        };
        let text = error.to_string();
        if METADATA.iter().any(|host| text.contains(host)) {
            return StoreError::Settings(
                "no credentials were found, neither in the environment nor in a file, and no machine of a cloud gives any here; a bucket of \
                 S3 that needs none is asked so with AWS_SKIP_SIGNATURE=true"
                    .to_owned(),
            );
        }
        let mut next: Option<&(dyn Error + 'static)> = Some(&error);
        let mut found = StoreError::Answer(None);
        while let Some(error) = next {
            if let Some(told) = error.downcast_ref::<StoreError>() {
                return told.clone();
            }
            match error.downcast_ref::<object_store::Error>() {
                Some(NotFound { .. }) => return StoreError::Missing,
                Some(Precondition { .. } | NotModified { .. }) => return StoreError::Changed,
                Some(PermissionDenied { .. } | Unauthenticated { .. }) => return StoreError::Denied,
                Some(NotSupported { .. }) => return StoreError::Whole,
                _ => {}
            }
            if let Some(http) = error.downcast_ref::<HttpError>() {
                return on_the_way(http);
            }
            if found == StoreError::Answer(None) {
                found = answered(&error.to_string()).unwrap_or(found);
            }
            next = error.source();
        }
        found
    }
}

/// Where machines of clouds ask for their credentials, which are looked for there last.
const METADATA: [&str; 3] = ["169.254.169.254", "metadata.google.internal", "metadata/computeMetadata"];

/// A request that got no answer.
pub(crate) fn on_the_way(error: &HttpError) -> StoreError {
    let mut causes = std::iter::successors(error.source(), |error| (*error).source());
    if let Some(told) = causes.find_map(|error| error.downcast_ref::<StoreError>()) {
        return told.clone();
    }
    match error.kind() {
        HttpErrorKind::Timeout => return StoreError::Timeout,
        HttpErrorKind::Decode => return StoreError::Answer(None),
        HttpErrorKind::Connect => {}
        _ => return StoreError::Cut,
    }
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return StoreError::Unreachable(unreachable(error));
        }
        next = error.source();
    }
    StoreError::Unreachable("no connection can be made".to_owned())
}

/// The reason why no connection was made. The error's own text may contain anything.
fn unreachable(error: &io::Error) -> String {
    let within = error.get_ref();
    if let Some(error) = within.and_then(|error| error.downcast_ref::<io::Error>()) {
        return unreachable(error);
    }
    match (error.raw_os_error(), within.and_then(|error| error.downcast_ref::<rustls::Error>())) {
        (Some(number), _) => io::Error::from_raw_os_error(number).to_string(),
        (None, Some(rustls::Error::InvalidCertificate(_))) => "its certificate is not trusted".to_owned(),
        (None, Some(_)) => "no secure connection comes about: check whether it is one for https".to_owned(),
        (None, None) => match error.kind().to_string().as_str() {
            // The kind of error of a failed name lookup, which has no name in the library.
            "uncategorized error" => "the name of its host is not known: check how the address is spelt".to_owned(),
            kind => kind.to_owned(),
        },
    }
}

/// The answer of a store out of what `object_store` says of it, whose type is its own: the status, and nothing of what
/// follows it.
fn answered(text: &str) -> Option<StoreError> {
    const STATUS: &str = "Server returned non-2xx status code: ";
    if text.starts_with("Received redirect without LOCATION") {
        return Some(StoreError::Answer(Some(301)));
    }
    let status = text.strip_prefix(STATUS)?.get(..3)?.parse().ok()?;
    Some(match status {
        401 | 403 => StoreError::Denied,
        404 => StoreError::Missing,
        412 => StoreError::Changed,
        408 => StoreError::Timeout,
        _ => StoreError::Answer(Some(status)),
    })
}
