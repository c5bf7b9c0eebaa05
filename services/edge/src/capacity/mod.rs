//! What there is to work off and what there is to do it with (requirement B26; faults, row 44): the lanes' ends and the
//! group's place in them, what the configuration gives one consumer, what platforms and the database take.
//!
//! `tidings_delivery::required_consumers` makes a number of it; the dispatcher and `tidings capacity` both do.

mod connections;
mod lanes;
mod oldest;
mod supply;

pub use connections::{ConnectionRoom, connection_room};
pub use lanes::{LaneLook, LanePlace, PartitionState};
pub use oldest::oldest_unread;
pub use supply::{
    MAINTENANCE_CONNECTIONS, concurrency_per_consumer, connections_per_consumer, quota_per_second,
};
