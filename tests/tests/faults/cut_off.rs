//! A worker that can not reach Postgres, or Kafka, stops sending and comes back by itself (reference/faults.md, row 31).

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::Instant;

use tidings_drill::{Profile, Proxy, Role};
use tidings_judge::evidence::Faults;
use tidings_stack::{Stack, StackOptions};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use uuid::Uuid;

use crate::load::Load;
use crate::world::{PATIENCE, World, health, until, until_busy};

/// Orders of which the first are under way when the fault comes.
const ORDERS: u32 = 150;
const BEFORE_THE_FAULT: u64 = 30;

/// Calls of the other worker, in which the one that is cut off shall have none.
const ONLY_THE_OTHERS: usize = 40;

/// How a network fails.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// Connections break, and none is made.
    Cut,
    /// Nothing arrives and nothing breaks.
    Silence,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_cut_off_from_postgres() {
    let world = World::new(Stack::shared().await.unwrap(), Profile::drill()).await;
    let url = &world.deployment.place().state_url;
    let proxy = Proxy::start(server(url)).await.unwrap();
    let settings = vec![("TIDINGS_STATE__DATABASE", proxy.in_place(url).into())];
    cut_off_twice(&world, &proxy, settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_cut_off_from_kafka() {
    let stack = Stack::start(StackOptions {
        kafka_detour: true,
        ..StackOptions::default()
    });
    let stack = stack.await.unwrap();
    let world = World::new(&stack, Profile::drill()).await;
    let detour = stack.kafka_detour().unwrap();
    let proxy = Proxy::start_at(detour.proxy, detour.broker.to_string());
    let proxy = proxy.await.unwrap();
    let brokers = detour.proxy.to_string();
    let settings = vec![("TIDINGS_KAFKA__BROKERS", brokers.into())];
    cut_off_twice(&world, &proxy, settings).await;
    stack.stop().await.unwrap();
}

/// `settings` lead a worker through the proxy.
async fn cut_off_twice(world: &World, proxy: &Proxy, settings: Vec<(&'static str, OsString)>) {
    let _relay = world.relay().await;
    let mut drill = CutOff {
        world,
        proxy,
        victim: world.dispatcher_with(1, settings).await,
        other: world.dispatcher(2).await,
    };
    for failure in [Failure::Cut, Failure::Silence] {
        drill.fail(failure).await;
    }
    let faults = Faults {
        fenced: HashSet::from([owner(&drill.victim)]),
        ..Faults::default()
    };
    world.assert_kept(faults).await;
    drill.victim.check_running().unwrap();
}

struct CutOff<'w> {
    world: &'w World,
    proxy: &'w Proxy,
    victim: Role,
    other: Role,
}

impl CutOff<'_> {
    async fn fail(&mut self, failure: Failure) {
        let load = Load::start(self.world, ORDERS);
        load.reaches(BEFORE_THE_FAULT).await;
        until_busy(&self.victim).await;
        match failure {
            Failure::Cut => self.proxy.cut().await.unwrap(),
            Failure::Silence => self.proxy.freeze().await.unwrap(),
        }
        self.until_its_leases_have_ended().await;
        let stopped = self.world.calls();
        until("it says that something is away", async || {
            health(&self.victim).await["status"] == "degraded"
        })
        .await;
        load.ends().await;
        self.others_go_on(stopped).await;
        let sent = self.world.calls_of(owner(&self.victim), stopped);
        assert_eq!(sent, 0, "{failure:?}: calls after the last lease has ended");
        self.proxy.heal().await.unwrap();
        self.victim.ready(PATIENCE).await.unwrap();
        self.comes_back().await;
    }

    /// By the clock of Postgres: what begins after that has no right to.
    async fn until_its_leases_have_ended(&self) {
        let live = "select count(*) from tidings_delivery.claims
            where owner = $1 and settled_at is null and lease_until >= now()";
        let owner = owner(&self.victim).to_string();
        until("its leases have ended", async || {
            self.world.count(live, &[&owner]).await == 0
        })
        .await;
    }

    /// While there is something to send.
    async fn others_go_on(&self, since: u64) {
        Load::start(self.world, ORDERS / 2).ends().await;
        until("the other worker goes on", async || {
            self.world.calls_of(owner(&self.other), since) >= ONLY_THE_OTHERS
        })
        .await;
    }

    /// It sends again; which partitions it gets, and when, is the group's affair.
    async fn comes_back(&self) {
        let (since, until) = (self.world.calls(), Instant::now() + PATIENCE);
        while self.world.calls_of(owner(&self.victim), since) == 0 {
            assert!(Instant::now() < until, "it does not send again");
            Load::start(self.world, ORDERS / 5).ends().await;
        }
    }
}

fn owner(worker: &Role) -> Uuid {
    worker.owner().unwrap()
}

/// `host:port` of a database's server.
fn server(url: &str) -> String {
    let config: Config = url.parse().unwrap();
    let [Host::Tcp(host)] = config.get_hosts() else {
        panic!("one TCP host is expected");
    };
    format!("{host}:{}", config.get_ports()[0])
}
