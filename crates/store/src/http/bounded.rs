//! Answers of bounded length: a server in the store's place may send bytes without end. Listings contain only names
//! that can be served ([`listed`](crate::http::listed)).

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error};

use crate::http::LONGEST_LISTING;
use crate::http::listed::servable;
use crate::http::redirects::Redirects;
use crate::limits::Limits;

/// Bytes of the longest answer that is read.
pub(crate) const MOST: usize = 64 << 20;
/// Bytes of the longest listing that is read: a thousand keys of a kilobyte, written as XML may write them.
const LISTING: usize = 8 << 20;

/// Makes connections whose answers end there, with an error.
#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    pub limits: Limits,
    pub redirects: Redirects,
    pub asked: Asked,
}

/// Where listings were asked for last: the address of the bucket, by whatever setting that was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Arc<Mutex<Option<String>>>);

impl Asked {
    pub fn note(&self, address: &str) {
        // The rest may be a secret.
        let address = address.split('?').next().map(str::to_owned);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// None if nothing was asked yet.
    pub fn address(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The part of a query that requests a listing: of S3 and Google, and of Azure.
const LISTS: [&str; 2] = ["list-type=2", "comp=list"];

impl HttpConnector for Bounded {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let below = client(&self.limits, &self.redirects, options)?;
        Ok(HttpClient::new(Client { below, asked: self.asked.clone() }))
    }
}

/// A client that follows these redirects. The library's own follows all of them.
fn client(limits: &Limits, redirects: &Redirects, options: &ClientOptions) -> object_store::Result<HttpClient> {
    let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|told| told == "true");
    let client = reqwest::Client::builder()
        .redirect(redirects.policy())
        // A redirect need not learn which address led to it.
        .referer(false)
        .http1_only()
        // Lengths and ranges are those of the object.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .https_only(!allows_http)
        .timeout(limits.for_request())
        .connect_timeout(limits.for_connection())
        .pool_max_idle_per_host(limits.requests)
        .user_agent(concat!("hotset/", env!("CARGO_PKG_VERSION")));
    client.build().map(HttpClient::new).map_err(|error| Error::Generic { store: "HTTP", source: Box::new(error) })
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
        let most = match is_listing {
            true => LISTING,
            // It is taken in as it comes, and its reader is the one to say that it is too long.
            false if request.method().as_str() == "PROPFIND" => LONGEST_LISTING as usize + MOST,
            false => MOST,
        };
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
