//! Accounts and the files of their tokens.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::world::World;

#[tokio::test]
async fn a_token_file_that_is_missing_or_open_to_everybody_is_named() {
    let world = World::new().await;
    fs::set_permissions(&world.token_file, Permissions::from_mode(0o644)).unwrap();
    let open = world.doctor(&[]).await;
    open.assert_problems(&[]);
    open.assert_warnings(&[(
        "secret files",
        "accounts.\"telegram:main\".token_file",
        "chmod 600",
    )]);

    fs::remove_file(&world.token_file).unwrap();
    let missing = world.doctor(&[]).await;
    let key = "accounts.\"telegram:main\".token_file";
    missing.assert_problems(&[("accounts", key, "put the secret there")]);
}

#[tokio::test]
async fn two_accounts_with_one_token_are_named_both() {
    let world = World::new().await;
    let place = world.deployment.place();
    let more = format!(
        "[accounts.\"telegram:second\"]\nbase_url = {:?}\ntoken_file = {:?}",
        place.simulator_url, world.token_file
    );
    let diagnosis = world.doctor_with(&more, &[]).await;
    let remedy = "same credential as account telegram:main";
    diagnosis.assert_problems(&[("accounts", "accounts.\"telegram:second\"", remedy)]);
    let token = fs::read_to_string(&world.token_file).unwrap();
    assert!(
        !diagnosis.output.contains(token.trim()),
        "{}",
        diagnosis.output
    );
}
