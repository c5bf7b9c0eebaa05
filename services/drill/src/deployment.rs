use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_edge::config::Config;
use tidings_edge::{kafka, postgres};
use tidings_simulator::{Simulator, SimulatorOptions};
use tidings_stack::Stack;
use uuid::Uuid;

use crate::{DrillAccount, DrillError, Profile, Role, RoleKind};

/// How to lay a deployment out.
pub struct DeploymentOptions {
    /// The `tidings` program.
    pub binary: PathBuf,
    /// A folder for the roles' settings and logs.
    pub folder: PathBuf,
    /// Timeouts and bounds.
    pub profile: Profile,
    /// First part of the names of topics, group and databases: deployments with different ones share a stack.
    /// Letters, digits and `_`.
    pub name: String,
    /// Where the simulator listens.
    pub simulator: SocketAddr,
    /// Where the roles send their spans, instead of the stack's Jaeger.
    pub otlp_url: Option<String>,
    /// The accounts that messages are sent with. Empty: `main`, with the profile's limits.
    pub accounts: Vec<DrillAccount>,
}

impl DeploymentOptions {
    /// A deployment with a random name and the drill's profile.
    #[must_use]
    pub fn new(binary: PathBuf, folder: PathBuf) -> Self {
        let name = format!("t{}", &Uuid::new_v4().simple().to_string()[..12]);
        Self {
            binary,
            folder,
            profile: Profile::drill(),
            name,
            simulator: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            otlp_url: None,
            accounts: Vec::new(),
        }
    }
}

/// Where a deployment's parts are reached.
#[derive(Debug, Clone)]
pub struct Place {
    /// The upstream service's database, with outbox and ledger.
    pub upstream_url: String,
    /// Tidings' own database.
    pub state_url: String,
    /// Kafka.
    pub brokers: String,
    /// The registry.
    pub registry_url: String,
    /// The simulator of the platforms.
    pub simulator_url: String,
    /// Jaeger's query API, if the stack has it.
    pub jaeger_url: Option<String>,
    /// Where the roles send every message's spans: Jaeger, if the stack has it.
    pub otlp_url: Option<String>,
    /// Prefix of the topics.
    pub prefix: String,
    /// The dispatchers' group.
    pub group: String,
}

/// Databases, topics, the simulator and the roles' configuration, on a running stack.
pub struct Deployment {
    options: DeploymentOptions,
    place: Place,
    config_file: PathBuf,
    simulator: Simulator,
}

impl Deployment {
    /// Prepares everything but the roles.
    ///
    /// # Errors
    /// See [`DrillError`].
    pub async fn prepare(
        stack: &Stack,
        mut options: DeploymentOptions,
    ) -> Result<Self, DrillError> {
        fs::create_dir_all(&options.folder).map_err(DrillError::system("make a folder"))?;
        if options.accounts.is_empty() {
            let limits = options.profile.account_limits.clone();
            options.accounts = vec![DrillAccount::new("main", limits)];
        }
        let simulator = Simulator::start(simulator(&options)).await?;
        let addresses = stack.addresses();
        let place = Place {
            upstream_url: stack
                .create_database(&format!("{}_upstream", options.name))
                .await?,
            state_url: stack
                .create_database(&format!("{}_state", options.name))
                .await?,
            brokers: addresses.kafka_brokers.clone(),
            registry_url: addresses.registry_url.clone(),
            simulator_url: simulator.base_url(),
            jaeger_url: addresses.jaeger_query_url.clone(),
            otlp_url: options.otlp_url.clone().or(addresses.otlp_url.clone()),
            prefix: options.name.clone(),
            group: format!("{}-dispatcher", options.name),
        };
        let config_file = write_config(&options, &place)?;
        let deployment = Self {
            options,
            place,
            config_file,
            simulator,
        };
        deployment.prepare_stores().await?;
        Ok(deployment)
    }

    async fn prepare_stores(&self) -> Result<(), DrillError> {
        let config = self.config()?;
        let (mut state, _session) = postgres::connect(&config.state, "tidings-drill").await?;
        postgres::migrate(&mut state).await?;
        let (upstream, _session) = postgres::connect(&config.upstream, "tidings-drill").await?;
        postgres::apply_outbox(&upstream).await?;
        kafka::apply(&config).await?;
        Ok(())
    }

    /// Where everything is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The simulator, for scripts and its log.
    #[must_use]
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// The roles' configuration file.
    #[must_use]
    pub fn config_file(&self) -> &Path {
        &self.config_file
    }

    /// The roles' configuration.
    ///
    /// # Errors
    /// It does not fit, which is a mistake in a profile.
    pub fn config(&self) -> Result<Config, DrillError> {
        Ok(Config::load(Some(&self.config_file))?)
    }

    /// A role that is started and ready.
    ///
    /// # Errors
    /// See [`Role::ready`].
    pub async fn run(&self, kind: RoleKind, number: usize) -> Result<Role, DrillError> {
        let mut role = self.role(kind, number);
        role.start().await?;
        role.ready(Duration::from_secs(30)).await?;
        Ok(role)
    }

    /// A role that is not started yet.
    #[must_use]
    pub fn role(&self, kind: RoleKind, number: usize) -> Role {
        let options = &self.options;
        Role::new(
            kind,
            number,
            &options.binary,
            &self.config_file,
            &options.folder,
        )
        .with_environment(tracing_variables(&self.place))
    }

    /// Ends the simulator; the roles end with their [`Role`]s.
    ///
    /// # Errors
    /// The simulator's.
    pub async fn stop(self) -> Result<(), DrillError> {
        Ok(self.simulator.stop().await?)
    }
}

/// Everything is traced, and shown a moment later.
fn tracing_variables(place: &Place) -> Vec<(&'static str, OsString)> {
    let Some(otlp_url) = &place.otlp_url else {
        return Vec::new();
    };
    vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", otlp_url.into()),
        ("OTEL_TRACES_SAMPLER", "always_on".into()),
        ("OTEL_BSP_SCHEDULE_DELAY", "200".into()),
    ]
}

fn simulator(options: &DeploymentOptions) -> SimulatorOptions {
    let simulator = SimulatorOptions::new(options.simulator);
    let accounts = options.accounts.iter().enumerate();
    accounts.fold(simulator, |simulator, (index, account)| {
        simulator
            .token(token(index), account.alias.as_str())
            .limits(account.alias.as_str(), account.platform_limits)
    })
}

/// An account's token at the simulator; it opens nothing else.
fn token(index: usize) -> String {
    format!("{}:local-simulator-only", 100_001 + index)
}

fn write_config(options: &DeploymentOptions, place: &Place) -> Result<PathBuf, DrillError> {
    let mut text = config_text(options, place);
    for (index, account) in options.accounts.iter().enumerate() {
        let file = format!("telegram-{}.token", account.alias);
        let token_file = options.folder.join(file);
        fs::write(&token_file, token(index)).map_err(DrillError::system("write a token's file"))?;
        text += &account_text(account, place, &token_file);
    }
    text += &options.profile.more;
    let file = options.folder.join("tidings.toml");
    fs::write(&file, text).map_err(DrillError::system("write the roles' configuration"))?;
    Ok(file)
}

fn account_text(account: &DrillAccount, place: &Place, token_file: &Path) -> String {
    let DrillAccount { alias, limits, .. } = account;
    format!(
        "[accounts.\"telegram:{alias}\"]\nbase_url = {}\ntoken_file = {}\nattempt_header = true\n\n\
         [accounts.\"telegram:{alias}\".limits]\n{limits}\n\n",
        quoted(&place.simulator_url),
        quoted(&token_file.to_string_lossy()),
    )
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn config_text(options: &DeploymentOptions, place: &Place) -> String {
    let profile = &options.profile;
    let millis = |time: Duration| format!("\"{}ms\"", time.as_millis());
    format!(
        "[kafka]\nbrokers = {}\nprefix = {}\npartitions = {}\nsession_timeout = {}\ngroup_protocol = {}\n\n\
         [upstream]\ndatabase = {}\n\n[state]\ndatabase = {}\n\n[registry]\nurl = {}\n\n\
         [dispatcher]\ngroup = {}\ncall_deadline = {}\nlease = {}\nlease_margin = {}\ndrain_deadline = {}\nmax_records = {}\n\n\
         [dispatcher.retry.standard]\nbase = {}\nattempts = {}\n\n",
        quoted(&place.brokers),
        quoted(&place.prefix),
        profile.partitions,
        millis(profile.session_timeout),
        quoted(profile.group_protocol),
        quoted(&place.upstream_url),
        quoted(&place.state_url),
        quoted(&place.registry_url),
        quoted(&place.group),
        millis(profile.call_deadline),
        millis(profile.lease),
        millis(profile.lease_margin),
        millis(profile.drain_deadline),
        profile.max_records,
        millis(profile.retry_base),
        profile.retry_attempts,
    )
}
