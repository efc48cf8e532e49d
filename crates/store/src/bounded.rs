//! Answers of bounded length: whoever answers in the store's place may send bytes without end. Of listings what can be
//! served ([`listed`](crate::listed)).

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    ReqwestConnector,
};

use crate::listed::servable;

/// Bytes of the longest answer that is read.
pub(crate) const MOST: usize = 64 << 20;
/// Bytes of the longest listing that is read: a thousand keys of a kilobyte, written as XML may write them.
const LISTING: usize = 8 << 20;

/// Makes connections whose answers end there, with an error.
#[derive(Debug, Default)]
pub(crate) struct Bounded {
    below: ReqwestConnector,
    pub asked: Asked,
}

/// Where listings were asked for last: the address of the bucket, by whatever setting that was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Arc<Mutex<Option<String>>>);

impl Asked {
    fn note(&self, address: &str) {
        // What is behind it may be a secret.
        let address = address.split('?').next().map(str::to_owned);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// None if nothing was asked yet.
    pub fn address(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a query has in it that asks for a listing: of S3 and Google, and of Azure.
const LISTS: [&str; 2] = ["list-type=2", "comp=list"];

impl HttpConnector for Bounded {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client { below: self.below.connect(options)?, asked: self.asked.clone() }))
    }
}

#[derive(Debug)]
struct Client {
    below: HttpClient,
    asked: Asked,
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let asks = |what| request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == what));
        let is_listing = asks(LISTS[0]);
        if LISTS.iter().any(|what| asks(what)) {
            self.asked.note(&request.uri().to_string());
        }
        let most = if is_listing { LISTING } else { MOST };
        let (head, body) = self.below.execute(request).await?.into_parts();
        let body = Limited::new(body, most).map_err(|error| match error.downcast::<HttpError>() {
            Ok(error) => *error,
            Err(error) => HttpError::new_boxed(HttpErrorKind::Decode, error),
        });
        let mut body = HttpResponseBody::new(body);
        if is_listing {
            let bytes = body.bytes().await?;
            body = match str::from_utf8(&bytes) {
                Ok(text) => servable(text).into(),
                Err(_) => bytes.into(),
            };
        }
        Ok(HttpResponse::from_parts(head, body))
    }
}
