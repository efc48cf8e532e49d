//! From a location to what asks the store, with credentials as other programs find them.

use std::env;
use std::str::FromStr;
use std::sync::{Arc, Once};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use reqwest::Url;

use crate::client::profile::Profile;
use crate::error::StoreError;
use crate::http::bounded::{Asked, Bounded};
use crate::http::redirects::Redirects;
use crate::limits::Limits;
use crate::location::{Location, Scheme};
#[cfg(feature = "webdav")]
use {crate::webdav::Web, object_store::client::HttpConnector};

/// What asks a store, about objects and for parts of listings.
pub(crate) struct Connected {
    pub objects: Arc<dyn ObjectStore>,
    /// None for a web server.
    pub lists: Option<Arc<dyn PaginatedListStore>>,
    /// Where listings were asked for.
    pub asked: Asked,
    /// Whose keys are used, where the address need not say that and the keys stay the same.
    pub account: Option<String>,
}

/// What asks about objects, and for listings.
type Made = (Arc<dyn ObjectStore>, Option<Arc<dyn PaginatedListStore>>);

/// Variables with the addresses of stores and with credentials. Not to be printed.
#[derive(Default)]
pub(crate) struct Environment(Vec<(String, String)>);

impl Environment {
    /// That of this process.
    pub fn of_process() -> Environment {
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// All settings that `object_store` knows by this prefix.
    fn settings<K: FromStr>(&self, prefix: &str) -> impl Iterator<Item = (K, &str)> {
        let ours = self.0.iter().filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty());
        ours.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.as_str())))
    }

    fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Environment {
        Environment(variables.into_iter().collect())
    }
}

impl Connected {
    pub fn new(location: &Location, limits: &Limits, environment: &Environment) -> Result<Connected, StoreError> {
        use_ring();
        let (retry, client) = (retries(limits), client(limits));
        let (asked, mut account) = (Asked::default(), None);
        let bounded = Bounded { limits: *limits, redirects: redirects(location), asked: asked.clone() };
        let made = match location.scheme {
            Scheme::S3 => {
                let told = environment.settings("AWS_");
                let builder =
                    told.fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value));
                let builder = Profile::read(environment)?.fill(builder, environment);
                let builder = builder.with_bucket_name(&location.bucket).with_retry(retry);
                // Not every store can delete many at once.
                let builder = builder.with_disable_bulk_delete(true);
                let is_for_good = builder.get_config_value(&AmazonS3ConfigKey::Token).is_none();
                account = builder.get_config_value(&AmazonS3ConfigKey::AccessKeyId).filter(|_| is_for_good);
                // Who names such an address wants it.
                let address = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
                let is_http = address.is_some_and(|address| address.starts_with("http://"));
                let client = client.with_allow_http(is_http || environment.is_on("AWS_ALLOW_HTTP"));
                builder.with_client_options(client).with_http_connector(bounded).build().map(connected)
            }
            Scheme::Google => {
                let told = environment.settings("GOOGLE_");
                let builder = GoogleCloudStorageBuilder::new().with_bucket_name(&location.bucket);
                let builder = told.fold(builder, |builder, (key, value)| builder.with_config(key, value));
                let client = client.with_allow_http(environment.is_on("GOOGLE_ALLOW_HTTP"));
                let builder = builder.with_retry(retry).with_client_options(client);
                builder.with_http_connector(bounded).build().map(connected)
            }
            Scheme::Azure => {
                let told = environment.settings("AZURE_");
                let builder = MicrosoftAzureBuilder::new().with_container_name(&location.bucket);
                let builder = told.fold(builder, |builder, (key, value)| builder.with_config(key, value));
                let client = client.with_allow_http(environment.is_on("AZURE_ALLOW_HTTP"));
                let builder = builder.with_retry(retry).with_client_options(client);
                builder.with_http_connector(bounded).build().map(connected)
            }
            Scheme::Https | Scheme::Http => {
                // No secret is sent, and the user chose http://; https:// never becomes http:// on the way.
                let client = client.with_allow_http(location.scheme == Scheme::Http);
                web(location, retry, client, bounded)
            }
        };
        let (objects, lists) = made.map_err(|error| StoreError::Settings(explain(location.scheme, &error)))?;
        Ok(Connected { objects, lists, asked, account })
    }
}

/// A web server: files alone, or one that is to list them.
fn web(location: &Location, retry: RetryConfig, client: ClientOptions, bounded: Bounded) -> object_store::Result<Made> {
    let builder = HttpBuilder::new().with_url(location.to_string()).with_retry(retry.clone());
    let builder = builder.with_client_options(client.clone()).with_http_connector(bounded.clone());
    let files = builder.build()?;
    match Url::parse(&location.to_string()) {
        #[cfg(feature = "webdav")]
        Ok(base) if location.is_listed => {
            let (asked, redirects) = (bounded.asked.clone(), bounded.redirects.clone());
            let client = Bounded { redirects: Redirects::Never, ..bounded }.connect(&client)?;
            Ok(connected(Web::new(files, client, base, retry, asked, redirects)))
        }
        // The library has taken it for an address.
        _ => Ok((Arc::new(files), None)),
    }
}

/// Which redirects are followed. A malformed address, which is refused elsewhere, has no origin.
fn redirects(location: &Location) -> Redirects {
    match location.is_web() {
        false => Redirects::Never,
        true if !location.is_listed => Redirects::Anywhere,
        true => {
            let own = Url::parse(&location.to_string()).ok();
            Redirects::Within(own.into_iter().chain(location.permitted.iter().cloned()).collect())
        }
    }
}

fn connected(store: impl ObjectStore + PaginatedListStore) -> Made {
    let store = Arc::new(store);
    (store.clone(), Some(store))
}

/// Retries of busy and failing stores: after a tenth of a second, then at growing intervals. They end before the
/// timeout of the call, so that the store's answer is reported and not a timeout.
fn retries(limits: &Limits) -> RetryConfig {
    let max_backoff = Duration::from_secs(5).min(limits.timeout / 8);
    let backoff = BackoffConfig { init_backoff: max_backoff.min(Duration::from_millis(100)), max_backoff, base: 2.0 };
    RetryConfig { backoff, max_retries: limits.retries, retry_timeout: limits.timeout / 2 }
}

fn client(limits: &Limits) -> ClientOptions {
    ClientOptions::new()
        .with_timeout(limits.for_request())
        .with_connect_timeout(limits.for_connection())
        .with_pool_max_idle_per_host(limits.requests)
}

/// The missing setting, by the kind of store. The library's own messages may contain values of settings.
fn explain(scheme: Scheme, error: &object_store::Error) -> String {
    let what = match scheme {
        Scheme::S3 => "AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL",
        Scheme::Google => "GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT, a file of credentials",
        Scheme::Azure => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY",
        Scheme::Https | Scheme::Http => {
            return "the address is malformed: expected one such as https://host/directory/file".to_owned();
        }
    };
    let kind = if matches!(error, object_store::Error::UnknownConfigurationKey { .. }) {
        "unknown"
    } else {
        "missing or malformed"
    };
    format!("a setting of the store is {kind}: check {what}")
}

/// TLS is built on the cryptography that is built in, unless the program has chosen another one.
fn use_ring() {
    static ONCE: Once = Once::new();
    // Where one is chosen already that one is used.
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}
