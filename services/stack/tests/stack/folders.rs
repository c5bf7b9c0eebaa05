//! Data that is kept, and starts that fail.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use tidings_stack::{Part, Stack, StackError, StackOptions};

use crate::talk;

#[tokio::test]
async fn a_kept_folder_has_its_data_even_on_other_ports() {
    let folder = new_folder("kept");
    let stack = Stack::start(without_registry(&folder, true)).await.unwrap();
    talk::leave_row(&stack).await;
    talk::leave_record(&stack.addresses().kafka_brokers).await;
    let second = Stack::start(without_registry(&folder, true)).await;
    assert!(
        matches!(second, Err(StackError::FolderInUse { .. })),
        "two stacks in one folder"
    );
    let before = stack.addresses().clone();
    stack.stop().await.unwrap();

    let _taken = TcpListener::bind(&before.kafka_brokers).unwrap();
    let stack = Stack::start(without_registry(&folder, false))
        .await
        .unwrap();
    assert_eq!(stack.addresses().postgres_url, before.postgres_url);
    assert_ne!(stack.addresses().kafka_brokers, before.kafka_brokers);
    assert_eq!(talk::find_row(&stack).await, "here");
    assert_eq!(
        talk::find_record(&stack.addresses().kafka_brokers).await,
        "here"
    );
    stack.stop().await.unwrap();
    assert!(!folder.exists(), "what is not to be kept is removed");
}

#[tokio::test]
async fn a_server_that_ends_while_starting_is_quoted() {
    let folder = new_folder("broken");
    fs::create_dir_all(folder.join("registry")).unwrap();
    fs::write(folder.join("registry/data.mv.db"), "no database").unwrap();
    let mut options = StackOptions {
        folder: Some(folder.clone()),
        ..StackOptions::default()
    };
    options.existing.postgres_url = Some("postgresql://127.0.0.1:1/none".to_owned());
    options.existing.kafka_brokers = Some("127.0.0.1:1".to_owned());
    let problem = Stack::start(options)
        .await
        .err()
        .expect("a start that fails");
    assert!(
        matches!(
            problem,
            StackError::Ended {
                part: Part::Registry,
                ..
            }
        ),
        "{problem}"
    );
    let log = folder.join("registry/log").display().to_string();
    assert!(
        problem.to_string().contains(&log) && problem.to_string().contains("data.mv.db"),
        "{problem}"
    );
    assert!(!folder.exists());
}

#[tokio::test]
async fn missing_jars_name_the_command_that_fetches_them() {
    let options = StackOptions {
        cache_folder: Some("/nowhere".into()),
        ..StackOptions::default()
    };
    let problem = Stack::start(options)
        .await
        .err()
        .expect("a start that fails")
        .to_string();
    assert!(
        problem.contains("/nowhere") && problem.contains("make setup"),
        "{problem}"
    );
}

fn without_registry(folder: &Path, keep: bool) -> StackOptions {
    let mut options = StackOptions {
        folder: Some(folder.to_owned()),
        keep,
        ..StackOptions::default()
    };
    options.existing.registry_url = Some("http://127.0.0.1:1".to_owned());
    options
}

fn new_folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("stack-test-{name}-{}", std::process::id()))
}
