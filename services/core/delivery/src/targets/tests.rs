use super::*;

const ACCOUNT: &str = "telegram:main";
const TAKES: Duration = Duration::from_secs(60);
const SECOND: u64 = 1_000_000;

#[derive(Default)]
struct Bench {
    targets: Targets,
    now: u64,
    options: TargetOptions,
}

fn chat(id: &str) -> TargetKey {
    TargetKey {
        chat: Arc::from(format!("{ACCOUNT}:{id}")),
        thread: None,
    }
}

fn thread(id: &str, thread: &str) -> TargetKey {
    TargetKey {
        thread: Some(Arc::from(thread)),
        ..chat(id)
    }
}

impl Bench {
    fn learn(&mut self, target: TargetKey, state: TargetState) {
        self.targets
            .learn(target, &state, Moment(self.now), &self.options);
    }

    fn kill(&mut self, target: TargetKey, probe: Option<Duration>) {
        let reason = Arc::from("blocked by the user");
        self.learn(target, TargetState::Dead { probe, reason });
    }

    fn move_to(&mut self, id: &str, new: &str) {
        let new_chat_id = Arc::from(new);
        self.learn(chat(id), TargetState::Migrated { new_chat_id });
    }

    fn route(&mut self, to: &TargetKey) -> Route {
        self.targets
            .route(ACCOUNT, to, None, Moment(self.now), TAKES)
    }

    fn is_dead(&mut self, to: &TargetKey) -> bool {
        matches!(self.route(to), Route::Dead(_))
    }
}

#[test]
fn a_dead_chat_is_dead_with_all_its_threads_and_a_dead_thread_alone() {
    let mut bench = Bench::default();
    bench.kill(chat("1"), None);
    bench.kill(thread("2", "7"), None);
    assert!(bench.is_dead(&chat("1")));
    assert!(bench.is_dead(&thread("1", "7")));
    assert!(bench.is_dead(&thread("2", "7")));
    assert!(!bench.is_dead(&thread("2", "8")));
    assert!(!bench.is_dead(&chat("2")));
    bench.learn(chat("1"), TargetState::Alive);
    assert_eq!(bench.route(&chat("1")), Route::Own);
}

#[test]
fn a_probe_that_is_due_goes_to_one_message() {
    let mut bench = Bench::default();
    bench.kill(chat("1"), Some(Duration::from_secs(3_600)));
    bench.now = 3_600 * SECOND - 1;
    assert!(bench.is_dead(&chat("1")));
    bench.now += 1;
    assert_eq!(bench.route(&chat("1")), Route::Own, "the probe");
    assert!(bench.is_dead(&chat("1")), "until its answer is known");
    bench.now += 60 * SECOND;
    assert_eq!(bench.route(&chat("1")), Route::Own, "it was lost");
}

#[test]
fn moves_are_followed_three_times_and_rings_end() {
    let mut bench = Bench::default();
    for (from, to) in [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")] {
        bench.move_to(from, to);
    }
    assert_eq!(bench.route(&chat("1")), Route::Other(Arc::from("4")));
    bench.move_to("2", "1");
    assert!(matches!(bench.route(&chat("1")), Route::Other(_)));
}

#[test]
fn a_chat_that_died_under_its_new_id_is_dead_under_the_old_one() {
    let mut bench = Bench::default();
    bench.move_to("1", "-100");
    bench.kill(chat("-100"), None);
    assert!(bench.is_dead(&chat("1")));
}

#[test]
fn what_was_used_longest_ago_is_forgotten_for_another() {
    let mut bench = Bench {
        options: TargetOptions {
            capacity: 2,
            ..TargetOptions::default()
        },
        ..Bench::default()
    };
    bench.kill(chat("1"), None);
    bench.kill(chat("2"), None);
    assert!(bench.is_dead(&chat("1")));
    bench.kill(chat("3"), None);
    assert!(bench.is_dead(&chat("1")) && bench.is_dead(&chat("3")));
    assert_eq!(bench.route(&chat("2")), Route::Own);
    assert_eq!(bench.targets.order.len(), bench.targets.known.len());
}
