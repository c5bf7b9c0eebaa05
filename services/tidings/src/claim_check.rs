//! `tidings claim-check put`: a content into the store, and the argument that refers to it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use tidings_edge::config::Config;
use tidings_edge::content::{ContentError, ContentStore, Stored, sha256_hex};
use tidings_envelope::ClaimCheck;

use crate::cli::ConfigOptions;
use crate::exit::Exit;

#[derive(Subcommand)]
pub(crate) enum ClaimCheckCommand {
    /// Store a file, and print what to pass to tidings.publish as claim_check
    Put(PutOptions),
}

#[derive(Args)]
pub(crate) struct PutOptions {
    #[command(flatten)]
    config: ConfigOptions,
    /// The file
    file: PathBuf,
    /// Its name in the store: parts separated by '/'. Without it: sha256/<its SHA-256>, which no other content can take
    #[arg(long)]
    key: Option<String>,
    /// Its media type; a chat gets text/plain in UTF-8
    #[arg(long, default_value = "text/plain")]
    content_type: String,
    /// Print only the claim check, as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(command: ClaimCheckCommand) -> anyhow::Result<Exit> {
    match command {
        ClaimCheckCommand::Put(options) => put(options).await,
    }
}

async fn put(options: PutOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.config.as_deref())?;
    let Some(store) = ContentStore::open(&config.claim_check)? else {
        return Ok(refuse(
            "claim_check.store = none: there is nowhere to put it; set it to folder or s3",
        ));
    };
    let bytes = match read(&options.file, config.claim_check.max_bytes)? {
        Ok(bytes) => bytes,
        Err(refusal) => return Ok(refuse(&refusal)),
    };
    if options.content_type.starts_with("text/") && std::str::from_utf8(&bytes).is_err() {
        return Ok(refuse(&format!(
            "{}: is not UTF-8, as {} must be here; convert it, or give another --content-type",
            options.file.display(),
            options.content_type
        )));
    }
    let claim = claim_check(&options, &bytes)?;
    let stored = store
        .put(&claim.storage_key, &claim.content_type, bytes)
        .await;
    let stored = match stored {
        Ok(stored) => stored,
        Err(taken @ (ContentError::Taken { .. } | ContentError::Key { .. })) => {
            return Ok(refuse(&taken.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let json = serde_json::to_string(&claim)?;
    if options.json {
        println!("{json}");
    } else {
        print!("{}", for_people(&config, &store, stored, &claim, &json));
    }
    Ok(Exit::Done)
}

fn claim_check(options: &PutOptions, bytes: &[u8]) -> anyhow::Result<ClaimCheck> {
    let sha256 = sha256_hex(bytes);
    Ok(ClaimCheck {
        storage_key: options
            .key
            .clone()
            .unwrap_or_else(|| format!("sha256/{sha256}")),
        content_type: options.content_type.clone(),
        size_bytes: i64::try_from(bytes.len())?,
        sha256,
    })
}

/// The file's bytes, or why they are not taken.
fn read(file: &Path, max_bytes: u64) -> anyhow::Result<Result<Vec<u8>, String>> {
    let unreadable = || format!("{} can not be read", file.display());
    let opened = File::open(file).with_context(unreadable)?;
    let mut bytes = Vec::new();
    let limited = &mut opened.take(max_bytes.saturating_add(1));
    limited.read_to_end(&mut bytes).with_context(unreadable)?;
    let shown = file.display();
    if bytes.is_empty() {
        return Ok(Err(format!(
            "{shown}: is empty, and there is no message without content"
        )));
    }
    if bytes.len() as u64 > max_bytes {
        return Ok(Err(format!(
            "{shown}: has more than the {max_bytes} bytes of claim_check.max_bytes; shorten it, or raise that for dispatchers too"
        )));
    }
    Ok(Ok(bytes))
}

fn for_people(
    config: &Config,
    store: &ContentStore,
    stored: Stored,
    claim: &ClaimCheck,
    json: &str,
) -> String {
    const SECONDS_PER_DAY: u64 = 86_400;
    let how = match stored {
        Stored::New => "stored in",
        Stored::AlreadyThere => "was already in",
    };
    let retention = config
        .kafka
        .lane_retention
        .max(config.kafka.dead_letter_retention);
    let days = retention.as_secs().div_ceil(SECONDS_PER_DAY);
    format!(
        "{} bytes: {how} {} as {}\nIt must stay there for {days} days, as long as its message can be replayed.\n\nPass it to tidings.publish:\n    claim_check => '{}'\n",
        claim.size_bytes,
        store.place(),
        claim.storage_key,
        json.replace('\'', "''"),
    )
}

fn refuse(why: &str) -> Exit {
    eprintln!("tidings: {why}");
    Exit::Refused
}
