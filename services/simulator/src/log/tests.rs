use std::fs;
use std::path::PathBuf;

use super::*;

fn options(log_file: Option<PathBuf>) -> SimulatorOptions {
    let mut options = SimulatorOptions::new(([127, 0, 0, 1], 0).into());
    options.log_file = log_file;
    options
}

fn arrival(text: &str) -> Arrival {
    Arrival {
        text: Some(text.to_owned()),
        accepted: true,
        ..Arrival::default()
    }
}

/// A file of this test alone, gone when the guard is.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str) -> Self {
        let name = format!("tidings-simulator-{}-{name}.ndjson", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn an_entry_is_there_before_its_answer() {
    let log = Log::open(&options(None)).unwrap();
    let ticket = log.enter(arrival("a")).unwrap();
    let entry = log.read(1, 10).remove(0);
    assert_eq!(
        (entry.seq, entry.message_id, entry.answer),
        (1, Some(1), None)
    );
    assert_eq!(log.stats().unanswered, 1);
    log.answer(ticket.seq, Outcome::Status(200));
    log.answer(ticket.seq, Outcome::Lost);
    assert_eq!(
        log.read(1, 10).remove(0).answer,
        Some(Outcome::Status(200)),
        "the first answer counts"
    );
    assert_eq!(log.stats().by_answer, [("200".to_owned(), 1)].into());
}

#[test]
fn a_full_log_refuses_and_says_so() {
    let mut by_entries = options(None);
    by_entries.log_entries = 2;
    let mut by_bytes = options(None);
    by_bytes.log_bytes = 1_000;
    for (options, text) in [(by_entries, "a".to_owned()), (by_bytes, "a".repeat(400))] {
        let log = Log::open(&options).unwrap();
        let taken = (0..5).filter(|_| log.enter(arrival(&text)).is_ok()).count() as u64;
        assert!((1..5).contains(&taken), "{taken}");
        assert_eq!(log.stats().refused, 5 - taken);
        assert_eq!(log.stats().received, taken);
        log.reset().unwrap();
        assert!(log.enter(arrival(&text)).is_ok());
    }
}

#[test]
fn a_restart_remembers_and_cuts_a_torn_line() {
    let file = TemporaryFile::new("restart");
    let first = Log::open(&options(Some(file.0.clone()))).unwrap();
    let ticket = first.enter(arrival("one")).unwrap();
    first.enter(arrival("two")).unwrap();
    first.answer(ticket.seq, Outcome::Lost);
    let (entries, stats) = (first.read(1, 10), first.stats());
    drop(first);
    let mut bytes = fs::read(&file.0).unwrap();
    bytes.extend_from_slice(b"{\"seq\":3,\"torn");
    fs::write(&file.0, bytes).unwrap();

    let second = Log::open(&options(Some(file.0.clone()))).unwrap();
    assert_eq!(second.read(1, 10), entries);
    assert_eq!(second.stats(), stats);
    let ticket = second.enter(arrival("three")).unwrap();
    assert_eq!((ticket.seq, ticket.message_id), (3, Some(3)));
    drop(second);
    assert_eq!(
        Log::open(&options(Some(file.0.clone())))
            .unwrap()
            .stats()
            .received,
        3
    );
}

#[test]
fn a_reset_empties_the_file_and_numbers_go_on() {
    let file = TemporaryFile::new("reset");
    let log = Log::open(&options(Some(file.0.clone()))).unwrap();
    let forgotten = log.enter(arrival("one")).unwrap();
    log.reset().unwrap();
    assert_eq!(fs::read(&file.0).unwrap(), b"");
    let ticket = log.enter(arrival("two")).unwrap();
    assert_eq!((ticket.seq, ticket.message_id), (2, Some(2)));
    log.answer(forgotten.seq, Outcome::Lost);
    assert_eq!(
        log.stats().unanswered,
        1,
        "an answer to a forgotten call counts for nobody"
    );
    drop(log);
    assert_eq!(
        Log::open(&options(Some(file.0.clone())))
            .unwrap()
            .read(0, 10)[0]
            .seq,
        2
    );
}

#[test]
fn a_file_that_is_no_log_is_refused_and_untouched() {
    for (name, content) in [
        ("foreign", "not a log\n"),
        (
            "gap",
            "{\"seq\":1,\"received_at_micros\":0,\"accepted\":false}\n{\"seq\":3,\"received_at_micros\":0,\"accepted\":false}\n",
        ),
    ] {
        let file = TemporaryFile::new(name);
        fs::write(&file.0, content).unwrap();
        assert!(Log::open(&options(Some(file.0.clone()))).is_err(), "{name}");
        assert_eq!(fs::read_to_string(&file.0).unwrap(), content);
    }
}

#[test]
fn a_file_that_cannot_be_written_refuses_calls() {
    let read_only = fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let log = Log::open(&options(None)).unwrap();
    log.state().write_to(LogFile::at_its_end(read_only));
    for _ in 0..2 {
        assert!(matches!(log.enter(arrival("x")), Err(LogRefusal::File)));
    }
    assert_eq!((log.stats().received, log.stats().refused), (0, 2));
    assert!(log.reset().is_err(), "nor can it be emptied");
}

#[test]
fn outcomes_in_json() {
    for (outcome, json) in [
        (Outcome::Status(429), "429"),
        (Outcome::Lost, "\"lost\""),
        (Outcome::Hang, "\"hang\""),
        (Outcome::Reset, "\"reset\""),
    ] {
        assert_eq!(serde_json::to_string(&outcome).unwrap(), json);
        assert_eq!(serde_json::from_str::<Outcome>(json).unwrap(), outcome);
    }
    assert!(serde_json::from_str::<Outcome>("\"other\"").is_err());
}
