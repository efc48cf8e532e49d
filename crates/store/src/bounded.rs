//! Answers of bounded length: whoever answers in the store's place may send bytes without end. Of listings what can be
//! served ([`listed`](crate::listed)).

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

/// Makes connections whose answers end there, with an error.
#[derive(Debug, Default)]
pub(crate) struct Bounded(ReqwestConnector);

impl HttpConnector for Bounded {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client(self.0.connect(options)?)))
    }
}

#[derive(Debug)]
struct Client(HttpClient);

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_listing = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "list-type=2"));
        let (head, body) = self.0.execute(request).await?.into_parts();
        let body = Limited::new(body, MOST).map_err(|error| match error.downcast::<HttpError>() {
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
