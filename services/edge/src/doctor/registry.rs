//! The registry: it answers, and it speaks Confluent's API.

use super::{Finding, words};
use crate::config::{Config, RegistryConfig};

pub(super) const CHECK: &str = "registry";
const KEY: &str = "registry.url";

/// The most that is read of an answer.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug)]
enum Facts {
    /// No answer, and why.
    Silent(String),
    /// `GET /subjects`.
    Answered {
        status: u16,
        /// How many subjects, if it is a list of names.
        subjects: Option<usize>,
    },
}

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    vec![judge(&gather(&config.registry).await)]
}

async fn gather(registry: &RegistryConfig) -> Facts {
    match ask(registry).await {
        Ok(facts) => facts,
        // It may quote the address, which holds no password: configuration refuses one there.
        Err(error) => Facts::Silent(words(&error)),
    }
}

async fn ask(registry: &RegistryConfig) -> Result<Facts, reqwest::Error> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(registry.request_timeout)
        .build()?;
    let url = format!("{}/subjects", registry.url.trim_end_matches('/'));
    let mut request = client.get(url);
    if let (Some(username), Some(password)) = (&registry.username, &registry.password) {
        request = request.basic_auth(username, Some(password.expose()));
    }
    let mut response = request.send().await?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_BYTES {
            break;
        }
    }
    let subjects = serde_json::from_slice::<Vec<String>>(&body).ok();
    Ok(Facts::Answered {
        status,
        subjects: subjects.map(|names| names.len()),
    })
}

fn judge(facts: &Facts) -> Finding {
    match facts {
        Facts::Silent(why) => Finding::problem(
            CHECK,
            KEY,
            format!("no answer: {why}"),
            "check that the registry runs and is reached from here; known schemas flow without it, new ones wait",
        ),
        Facts::Answered {
            status: status @ (401 | 403),
            ..
        } => Finding::problem(
            CHECK,
            "registry.username",
            format!("it answers {status}"),
            "set username and password_file (or password_env) to what the registry accepts",
        ),
        Facts::Answered {
            status: 200,
            subjects: Some(subjects),
        } => Finding::ok(CHECK, format!("answers with {subjects} subject(s)")),
        Facts::Answered { status, .. } => Finding::problem(
            CHECK,
            KEY,
            format!(
                "GET /subjects answers {status} and no list of subjects: this is not Confluent's API"
            ),
            "name the API's base; Apicurio's ends in /apis/ccompat/v7",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    fn judged(status: u16, subjects: Option<usize>) -> Finding {
        judge(&Facts::Answered { status, subjects })
    }

    #[test]
    fn only_a_list_of_subjects_is_well() {
        assert_eq!(judged(200, Some(0)).health, Health::Ok);
        assert!(judged(200, None).remedy.contains("ccompat"));
        assert!(judged(404, None).remedy.contains("ccompat"));
        assert_eq!(judged(401, None).key, "registry.username");
        let silent = judge(&Facts::Silent("refused".into()));
        assert!(silent.found.contains("refused"));
    }
}
