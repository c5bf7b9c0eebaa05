//! `tidings capacity`: how many dispatchers the load asks for, why not more, and how near the lanes' unread records are to
//! what retention deletes (requirement B26; faults, row 44).

mod facts;
mod gather;
mod lanes;
mod options;
mod processing;
mod show;
mod supply;

use tidings_edge::config::Config;

use crate::exit::Exit;
use gather::gather;
pub(crate) use options::CapacityOptions;

pub(crate) async fn run(options: CapacityOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.config.as_deref())?;
    let Some(facts) = gather(&config, &options).await? else {
        eprintln!("no lane exists; `tidings topics apply` creates them");
        return Ok(Exit::NothingMatched);
    };
    match options.json {
        true => show::json(&facts),
        false => show::text(&facts),
    }
    let alarms = facts.lanes.iter().any(|lane| lane.alarms());
    Ok(if alarms { Exit::Failed } else { Exit::Done })
}
