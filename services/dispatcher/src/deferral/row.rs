use std::sync::Arc;

use rdkafka::Timestamp;
use rdkafka::message::OwnedMessage;
use tokio_postgres::Row;

use super::{Owned, headers};
use crate::consumer::Lanes;
use crate::decode::{Decoded, Decoder, Intake};

/// The record as it came from Kafka, decoded again.
pub(super) fn intake(row: &Row, of: &Owned, decoder: &Decoder, lanes: &Lanes) -> Option<Intake> {
    let headers = headers::decode(row.get("record_headers"));
    let millis: Option<i64> = row.get("record_timestamp_millis");
    let record = OwnedMessage::new(
        row.get("record_value"),
        row.get("record_key"),
        of.topic.to_string(),
        millis.map_or(Timestamp::NotAvailable, Timestamp::CreateTime),
        of.partition.partition,
        row.get("record_offset"),
        headers.clone().unwrap_or_default(),
    );
    let mut intake = decoder.take_in(lanes, record)?;
    if let Err(damaged) = headers {
        let reason = format!("{damaged}; somebody wrote to tidings_delivery.deferred_messages");
        intake.decoded = Decoded::Poison(Arc::from(reason));
    }
    Some(intake)
}
