//! Parts that are killed, stopped and paused, and come back with what was acknowledged.

use std::time::Duration;

use tidings_stack::{Part, Stack, StackError, StackOptions};
use tokio::time::timeout;

use crate::talk;

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill_of_each_part() {
    let stack = Stack::start(StackOptions::default()).await.unwrap();
    let addresses = stack.addresses().clone();
    let schema = talk::leave_something(&stack).await;
    for part in Part::ALL {
        let before = stack.pid(part).await.unwrap();
        stack.restart(part).await.unwrap();
        assert_ne!(stack.pid(part).await.unwrap(), before);
    }
    assert_eq!(stack.addresses(), &addresses);
    assert_eq!(talk::find_row(&stack).await, "here");
    assert_eq!(talk::find_record(&addresses.kafka_brokers).await, "here");
    assert_eq!(talk::subjects(&addresses).await, r#"["left-behind"]"#);
    assert_eq!(
        talk::register_schema(&addresses).await,
        schema,
        "the schema has got another id"
    );
}

#[tokio::test]
async fn a_stopped_part_is_gone_until_it_is_started() {
    let stack = start_postgres_only().await;
    talk::leave_row(&stack).await;
    stack.stop_part(Part::Postgres).await.unwrap();
    assert_eq!(stack.pid(Part::Postgres).await.unwrap(), None);
    assert!(
        tokio_postgres::connect(&stack.addresses().postgres_url, tokio_postgres::NoTls)
            .await
            .is_err()
    );
    assert!(matches!(
        stack.kill(Part::Postgres).await,
        Err(StackError::NotRunning(Part::Postgres))
    ));
    stack.start_part(Part::Postgres).await.unwrap();
    assert!(matches!(
        stack.start_part(Part::Postgres).await,
        Err(StackError::AlreadyRunning(Part::Postgres))
    ));
    assert_eq!(talk::find_row(&stack).await, "here");
}

#[tokio::test]
async fn a_paused_part_answers_nobody_until_it_is_resumed() {
    let stack = start_postgres_only().await;
    let client = talk::postgres(&stack.addresses().postgres_url).await;
    client.batch_execute("SELECT 1").await.unwrap();
    stack.pause(Part::Postgres).await.unwrap();
    let answer = client.batch_execute("SELECT 1");
    tokio::pin!(answer);
    assert!(
        timeout(Duration::from_millis(300), &mut answer)
            .await
            .is_err(),
        "a paused server has answered"
    );
    stack.resume(Part::Postgres).await.unwrap();
    answer.await.unwrap();
}

#[tokio::test]
async fn a_paused_stack_can_be_stopped() {
    let stack = start_postgres_only().await;
    let _session = talk::postgres(&stack.addresses().postgres_url).await;
    stack.pause(Part::Postgres).await.unwrap();
    let folder = stack.folder().unwrap().to_owned();
    stack.stop().await.unwrap();
    assert!(!folder.exists());
}

/// Nobody talks to the other two.
async fn start_postgres_only() -> Stack {
    let mut options = StackOptions::default();
    options.existing.kafka_brokers = Some("127.0.0.1:1".to_owned());
    options.existing.registry_url = Some("http://127.0.0.1:1".to_owned());
    Stack::start(options).await.unwrap()
}
