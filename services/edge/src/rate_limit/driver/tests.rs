use tidings_ratelimit::Options;
use uuid::Uuid;

use super::*;

/// A limiter whose log is empty and whose client is not there yet.
fn opened() -> Driver {
    let limiter = Limiter::new(Options::new(Uuid::from_u128(7), 7));
    let mut driver = Driver::new(limiter, Arc::new(Tray::default()), None, true);
    driver.tell(Event::Opened { first: 0, end: 0 }, Instant::now());
    driver
}

#[test]
fn what_belongs_to_an_earlier_read_is_dropped() {
    let mut driver = opened();
    driver.take_record(5, 1_000, b"not a record", Instant::now());
    assert_eq!(driver.limiter.counts().malformed, 0);
    assert_eq!(driver.take_command(), Some(LogCommand::Read(0)));
    driver.take_record(0, 1_000, b"not a record", Instant::now());
    assert_eq!(driver.limiter.counts().malformed, 1);
}

#[test]
fn what_is_appended_and_not_read_is_a_stall_until_something_is() {
    let mut driver = opened();
    assert_eq!(driver.take_command(), Some(LogCommand::Read(0)));
    assert!(!driver.is_stalled(Duration::ZERO));
    // An empty log makes the limiter append.
    driver.reached_end(0);
    assert!(driver.is_stalled(Duration::ZERO));
    assert!(!driver.is_stalled(Duration::from_secs(3_600)));
    driver.take_record(0, 1_000, b"", Instant::now());
    assert!(!driver.is_stalled(Duration::ZERO));
}

#[test]
fn an_append_that_no_client_takes_is_told_as_failed_after_a_pause() {
    let mut driver = opened();
    let _ = driver.take_command();
    driver.reached_end(0);
    assert_eq!(driver.refused.len(), 1);
    let told_at = driver.refused_told_at.unwrap();
    assert!(driver.next_timer().unwrap() <= told_at);
    driver.refused_told_at = Some(Instant::now());
    driver.tell(Event::Timer, Instant::now());
    assert!(driver.refused.is_empty());
}

#[test]
fn the_end_is_never_replaced() {
    let mut driver = opened();
    driver.close();
    let reason = "gone".to_owned();
    driver.tell(Event::Lost { reason }, Instant::now());
    assert_eq!(driver.take_command(), Some(LogCommand::End));
    assert_eq!(driver.take_command(), Some(LogCommand::End));
}

#[test]
fn the_limiters_time_does_not_run_backwards() {
    let mut driver = opened();
    let earlier = Instant::now();
    let later = driver.moment(earlier + Duration::from_secs(1));
    assert_eq!(driver.moment(earlier), later);
}
