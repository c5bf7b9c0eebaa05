//! Each part's image and what it is started with. The same settings as the local servers', in the images' variables.

use std::time::Duration;

use testcontainers::core::IntoContainerPort;
use testcontainers::{ContainerRequest, GenericImage, ImageExt};

use super::docker::{Mark, OWNER_LABEL, STACK_LABEL};
use crate::part::Part;
use crate::programs;
use crate::servers::{Kafka, Postgres, Registry};

const LOOPBACK: &str = "127.0.0.1";
const KAFKA_CONTROLLER: &str = "localhost:9093";

/// The ports that a part listens on in its container, in the order of its addresses. `None`: the same as outside, since
/// Kafka's clients and its broker itself are sent to the one address that it advertises.
pub(super) fn container_ports(part: Part) -> &'static [Option<u16>] {
    match part {
        Part::Postgres => &[Some(5_432)],
        Part::Kafka => &[None],
        Part::Registry => &[Some(8_080)],
        // The query API, and OTLP over HTTP.
        Part::Jaeger => &[Some(16_686), Some(4_318)],
    }
}

/// A container of `part`, published on `ports` of loopback and labelled as `mark` says.
pub(super) fn request(
    part: Part,
    ports: &[u16],
    mark: &Mark,
    limit: Duration,
) -> ContainerRequest<GenericImage> {
    let (name, tag) = name_and_tag(part);
    let request = GenericImage::new(name, tag)
        .with_startup_timeout(limit)
        .with_label(STACK_LABEL, &mark.stack)
        .with_label(OWNER_LABEL, &mark.owner)
        .with_cmd(arguments(part))
        .with_host_config_modifier(|host| {
            let bindings = host
                .port_bindings
                .iter_mut()
                .flat_map(|all| all.values_mut());
            for binding in bindings.flatten().flatten() {
                binding.host_ip = Some(LOOPBACK.to_owned());
            }
        });
    let request = variables(part, ports)
        .into_iter()
        .fold(request, |request, (name, value)| {
            request.with_env_var(name, value)
        });
    ports
        .iter()
        .zip(container_ports(part))
        .fold(request, |request, (outside, inside)| {
            request.with_mapped_port(*outside, inside.unwrap_or(*outside).tcp())
        })
}

fn name_and_tag(part: Part) -> (&'static str, &'static str) {
    let variable = match part {
        Part::Postgres => "POSTGRES_IMAGE",
        Part::Kafka => "KAFKA_IMAGE",
        Part::Registry => "REGISTRY_IMAGE",
        Part::Jaeger => "JAEGER_IMAGE",
    };
    let image = programs::version_of(variable);
    image.rsplit_once(':').unwrap_or((image, "latest"))
}

fn arguments(part: Part) -> Vec<&'static str> {
    match part {
        Part::Postgres => vec!["postgres", "-c", "max_connections=300"],
        Part::Kafka | Part::Registry | Part::Jaeger => Vec::new(),
    }
}

fn variables(part: Part, ports: &[u16]) -> Vec<(String, String)> {
    let pairs: Vec<(&str, String)> = match part {
        Part::Postgres => vec![
            ("POSTGRES_USER", Postgres::SUPERUSER.to_owned()),
            ("POSTGRES_DB", Postgres::DEFAULT.to_owned()),
            ("POSTGRES_HOST_AUTH_METHOD", "trust".to_owned()),
            (
                "POSTGRES_INITDB_ARGS",
                "--no-sync --encoding=UTF8 --locale=C".to_owned(),
            ),
        ],
        Part::Kafka => return kafka_variables(ports),
        Part::Registry => vec![("REGISTRY_DATASOURCE_URL", Registry::database("/tmp"))],
        Part::Jaeger => Vec::new(),
    };
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The image makes a setting of each variable: `KAFKA_NODE_ID` is `node.id`.
fn kafka_variables(ports: &[u16]) -> Vec<(String, String)> {
    let clients = Kafka::brokers(ports);
    let port = ports.first().copied().unwrap_or_default();
    let own = [
        ("log.dirs", "/var/lib/kafka/data".to_owned()),
        (
            "listeners",
            format!("CLIENT://:{port},CONTROLLER://{KAFKA_CONTROLLER}"),
        ),
        ("advertised.listeners", format!("CLIENT://{clients}")),
        ("controller.quorum.voters", format!("1@{KAFKA_CONTROLLER}")),
        // Not a setting: the image's scripts read it.
        ("heap.opts", Kafka::HEAP.to_owned()),
    ];
    let shared = Kafka::settings().filter(|(name, _)| *name != "log.dirs");
    shared
        .map(|(name, value)| (name, value.to_owned()))
        .chain(own)
        .map(|(name, value)| {
            (
                format!("KAFKA_{}", name.to_uppercase().replace('.', "_")),
                value,
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_has_a_tag_and_is_the_one_that_compose_runs() {
        let compose = include_str!("../../../../docker-compose.yml");
        for part in [Part::Postgres, Part::Kafka, Part::Registry, Part::Jaeger] {
            let (name, tag) = name_and_tag(part);
            assert_ne!(tag, "latest", "{part}");
            assert!(
                compose.contains(&format!("image: {name}:{tag}\n")),
                "{part}: {name}:{tag}"
            );
        }
    }

    #[test]
    fn kafka_has_the_local_settings_and_its_own_addresses() {
        let variables = kafka_variables(&[1_234]);
        let value = |name: &str| {
            let mut found = variables.iter().filter(|(key, _)| key == name);
            let value = found.next().map(|(_, value)| value.as_str());
            assert!(found.next().is_none(), "{name} twice");
            value
        };
        assert_eq!(value("KAFKA_AUTO_CREATE_TOPICS_ENABLE"), Some("false"));
        assert_eq!(
            value("KAFKA_ADVERTISED_LISTENERS"),
            Some("CLIENT://127.0.0.1:1234")
        );
        assert_eq!(value("KAFKA_LOG_DIRS"), Some("/var/lib/kafka/data"));
    }
}
