//! Stores of contents that are not there, or that cannot be read.

use std::fs;

use tidings_tests::s3::S3;

use crate::diagnosis::{Case, Diagnosis};
use crate::world::{World, closed_port};

const CHECK: &str = "claim check";

fn found(diagnosis: &Diagnosis) -> Vec<&str> {
    let findings = diagnosis.findings.iter();
    findings
        .filter(|finding| finding["check"] == CHECK)
        .map(|finding| finding["found"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let world = World::new().await;
    let folder = world.folder.join("contents");
    let settings = format!("[claim_check]\nstore = \"folder\"\nfolder = {folder:?}");
    let name = folder.to_str().unwrap();

    let missing = world.doctor_with(&settings, &[]).await;
    missing.assert_problems(&[(CHECK, "claim_check.folder", "make the folder, or mount it")]);
    assert!(found(&missing)[0].contains(name), "{}", missing.output);

    fs::create_dir(&folder).unwrap();
    let there = world.doctor_with(&settings, &[]).await;
    there.assert_problems(&[]);
    there.assert_warnings(&[]);
    assert_eq!(
        found(&there),
        [format!("folder {name} can be read and written")]
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "doctor wrote");

    fs::remove_dir(&folder).unwrap();
    fs::write(&folder, "").unwrap();
    let file = world.doctor_with(&settings, &[]).await;
    file.assert_problems(&[(CHECK, "claim_check.folder", "name a folder")]);
}

#[tokio::test]
async fn settings_that_name_no_store_are_explained() {
    let world = World::new().await;
    let cases: [Case; 4] = [
        (
            &[("TIDINGS_CLAIM_CHECK__STORE", "gcs")],
            &[(
                "configuration",
                "TIDINGS_CLAIM_CHECK__STORE",
                "`none`, `folder`, `s3`",
            )],
        ),
        (
            &[("TIDINGS_CLAIM_CHECK__STORE", "folder")],
            &[(
                "configuration",
                "claim_check.folder",
                "name the folder by its absolute path",
            )],
        ),
        (
            &[
                ("TIDINGS_CLAIM_CHECK__STORE", "s3"),
                ("TIDINGS_CLAIM_CHECK__S3__ACCESS_KEY_ID", "A"),
                ("TIDINGS_CLAIM_CHECK__S3__ENDPOINT", "s3://contents"),
            ],
            &[
                ("configuration", "claim_check.s3.bucket", "name the bucket"),
                (
                    "configuration",
                    "claim_check.s3.secret_access_key_file",
                    "secret_access_key_env",
                ),
                (
                    "configuration",
                    "claim_check.s3.endpoint",
                    "use http:// or https://",
                ),
            ],
        ),
        (
            &[
                ("TIDINGS_CLAIM_CHECK__STORE", "s3"),
                ("TIDINGS_CLAIM_CHECK__S3__BUCKET", "contents"),
                ("TIDINGS_CLAIM_CHECK__S3__ACCESS_KEY_ID", "A"),
                (
                    "TIDINGS_CLAIM_CHECK__S3__SECRET_ACCESS_KEY_FILE",
                    "/no/file",
                ),
            ],
            &[(
                "configuration",
                "claim_check.s3.secret_access_key_file",
                "put the secret there",
            )],
        ),
    ];
    for (variables, expected) in cases {
        world.doctor(variables).await.assert_problems(expected);
    }
    let unused = [("TIDINGS_CLAIM_CHECK__FOLDER", "/var/contents")];
    let diagnosis = world.doctor(&unused).await;
    diagnosis.assert_problems(&[]);
    diagnosis.assert_warnings(&[(CHECK, "claim_check.store", "remove claim_check.folder")]);
}

#[tokio::test]
async fn a_bucket_that_cannot_be_read_is_explained_without_its_secret() {
    let Some(s3) = S3::start() else {
        return; // It has said so.
    };
    let world = World::new().await;
    let secret = world.folder.join("s3.secret");
    fs::write(&secret, &s3.secret_access_key).unwrap();
    closed_to_others(&secret);
    let settings = s3.settings(&secret);
    let fits = world.doctor_with(&settings, &[]).await;
    fits.assert_problems(&[]);
    fits.assert_warnings(&[]);

    let nowhere = format!("http://127.0.0.1:{}", closed_port().await);
    let registry = world.config().registry.url;
    let forged = "not-the-secret-of-this-key";
    let cases = [
        (
            "BUCKET",
            "nobodys",
            "access_key_id",
            "correct claim_check.s3.bucket",
        ),
        ("ACCESS_KEY_ID", "nobody", "access_key_id", "name a key"),
        (
            "ENDPOINT",
            &nowhere,
            "endpoint",
            "check that the store runs",
        ),
        ("ENDPOINT", &registry, "endpoint", "S3 API"),
    ];
    for (variable, value, key, remedy) in cases {
        let variable = format!("TIDINGS_CLAIM_CHECK__S3__{variable}");
        let diagnosis = world.doctor_with(&settings, &[(&variable, value)]).await;
        let key = format!("claim_check.s3.{key}");
        diagnosis.assert_problems(&[(CHECK, &key, remedy)]);
        assert!(!diagnosis.output.contains(&s3.secret_access_key));
    }
    fs::write(&secret, forged).unwrap();
    let diagnosis = world.doctor_with(&settings, &[]).await;
    let key = "claim_check.s3.secret_access_key_file";
    diagnosis.assert_problems(&[(CHECK, key, "put the secret that belongs to")]);
    let output = &diagnosis.output;
    assert!(
        !output.contains(forged) && !output.contains("StringToSign"),
        "{output}"
    );
}

fn closed_to_others(file: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}
