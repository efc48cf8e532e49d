//! Credentials of a profile, in the files of the AWS tools: `~/.aws/credentials` and `~/.aws/config`.
//!
//! The environment takes precedence. Of a profile, keys, a session's token, the region and the address of the store are
//! understood; a profile that requires another program or service is refused.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use crate::client::connect::Environment;
use crate::error::StoreError;

/// The settings of a profile by name. Not to be printed.
#[derive(Default)]
pub(crate) struct Profile(Vec<(String, String)>);

const UNDERSTOOD: [(&str, AmazonS3ConfigKey); 5] = [
    ("aws_access_key_id", AmazonS3ConfigKey::AccessKeyId),
    ("aws_secret_access_key", AmazonS3ConfigKey::SecretAccessKey),
    ("aws_session_token", AmazonS3ConfigKey::Token),
    ("region", AmazonS3ConfigKey::Region),
    ("endpoint_url", AmazonS3ConfigKey::Endpoint),
];

/// Settings of profiles whose credentials come from elsewhere.
const ELSEWHERE: [&str; 5] = ["role_arn", "credential_process", "sso_session", "sso_start_url", "source_profile"];

impl Profile {
    /// The one that `AWS_PROFILE` names, or the default one, if there is any.
    pub fn read(environment: &Environment) -> Result<Profile, StoreError> {
        let named = environment.get("AWS_PROFILE");
        let name = named.unwrap_or("default");
        let mut settings = Vec::new();
        for (variable, file, heading) in [
            ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name.to_owned()),
            ("AWS_CONFIG_FILE", "config", if name == "default" { name.to_owned() } else { format!("profile {name}") }),
        ] {
            if let Some(text) = text_of(environment, variable, file)? {
                settings.extend(section(&text, &heading));
            }
        }
        let profile = Profile(settings);
        match named {
            Some(name) if profile.0.is_empty() => Err(StoreError::Settings(format!(
                "no profile {name:?} (AWS_PROFILE) in ~/.aws/credentials or ~/.aws/config"
            ))),
            _ => profile.check(name, environment),
        }
    }

    fn check(self, name: &str, environment: &Environment) -> Result<Profile, StoreError> {
        let is_complete = self.get("aws_access_key_id").is_some() || environment.get("AWS_ACCESS_KEY_ID").is_some();
        match ELSEWHERE.iter().find(|key| self.get(key).is_some()) {
            Some(key) if !is_complete => Err(StoreError::Settings(format!(
                "the profile {name:?} has its credentials from elsewhere ({key}), which is not supported: put them into the environment, as \
                 `aws configure export-credentials --format env` prints them"
            ))),
            _ => Ok(self),
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Sets what the environment has left open. Keys belong together: none of them is added to those of the
    /// environment.
    pub fn fill(&self, mut builder: AmazonS3Builder, environment: &Environment) -> AmazonS3Builder {
        let has_keys = builder.get_config_value(&AmazonS3ConfigKey::AccessKeyId).is_some();
        let others = [
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ];
        let has_others = others.iter().any(|variable| environment.get(variable).is_some());
        for (name, key) in UNDERSTOOD {
            let is_secret = name.starts_with("aws_");
            let is_open = if is_secret { !has_keys && !has_others } else { builder.get_config_value(&key).is_none() };
            if let Some(value) = self.get(name).filter(|_| is_open) {
                builder = builder.with_config(key, value);
            }
        }
        builder
    }
}

/// A file of the tools, if there is one.
fn text_of(environment: &Environment, variable: &str, file: &str) -> Result<Option<String>, StoreError> {
    let path = match (environment.get(variable), environment.get("HOME")) {
        (Some(path), _) => PathBuf::from(path),
        (None, Some(home)) => PathBuf::from(home).join(".aws").join(file),
        (None, None) => return Ok(None),
    };
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::Settings(format!("cannot read {}: {error}", path.display()))),
    }
}

/// The settings below a heading. Lines that are indented belong to settings that have settings, which are not for us.
fn section(text: &str, heading: &str) -> Vec<(String, String)> {
    let mut is_in = false;
    let mut settings = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.trim_end().strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_in = name.split_whitespace().eq(heading.split_whitespace());
        } else if let Some((key, value)) =
            line.split_once('=').filter(|_| is_in && !line.starts_with([' ', '\t', '#', ';']))
        {
            settings.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    settings.retain(|(_, value)| !value.is_empty());
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
[default]
aws_access_key_id = AKIA1
aws_secret_access_key=s=cret
s3 =
    endpoint_url = http://nested
# region = commented
[ profile  other ]
region = eu-central-1
";

    #[test]
    fn a_profile_is_the_lines_below_its_heading() {
        let told = |heading| section(TEXT, heading);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(told("default"), [pair("aws_access_key_id", "AKIA1"), pair("aws_secret_access_key", "s=cret")]);
        assert_eq!(told("profile other"), [pair("region", "eu-central-1")]);
        assert_eq!(told("none"), []);
    }

    #[test]
    fn keys_of_the_environment_are_not_mixed_with_those_of_a_profile() {
        let profile = Profile(section(TEXT, "default"));
        let filled = profile.fill(AmazonS3Builder::new(), &Environment::default());
        let get = |builder: &AmazonS3Builder, key| builder.get_config_value(&key);
        assert_eq!(get(&filled, AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("AKIA1"));
        assert_eq!(get(&filled, AmazonS3ConfigKey::SecretAccessKey).as_deref(), Some("s=cret"));
        let mine = profile.fill(AmazonS3Builder::new().with_access_key_id("mine"), &Environment::default());
        assert_eq!(get(&mine, AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("mine"));
        assert_eq!(get(&mine, AmazonS3ConfigKey::SecretAccessKey), None);
    }

    #[test]
    fn a_profile_that_asks_another_service_is_refused() {
        let profile = Profile(section("[default]\nsso_session = corp\n", "default"));
        let said = profile.check("default", &Environment::default()).err().expect("it is refused").to_string();
        assert!(said.contains("credentials from elsewhere (sso_session)"), "{said}");
    }
}
