use std::path::PathBuf;

use super::super::editions;
use super::*;

const DECLARATION: &str = "owner = \"a\"\npolicy = \"park\"\nretry = \"standard\"\non_dead = \"hold\"\non_stale = \"skip\"\ntext = \"template\"\n";
const DATA: &str = r#"{"type":"record","name":"Data","fields":[{"name":"id","type":"string"}]}"#;

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tidings-schemas-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn with(self, file: &str, text: &str) -> Self {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// With one event type that fits.
    fn fitting(name: &str) -> Self {
        Self::new(name)
            .with("parcel.lost/type.toml", DECLARATION)
            .with("parcel.lost/v1.avsc", DATA)
            .with("parcel.lost/template.txt", "Lost: {{ data.id }}")
    }

    fn refusal(&self) -> String {
        let error = read(&self.0).unwrap_err();
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        text
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_replaces_the_built_in_types() {
    let folder = Folder::fitting("replaces")
        .with("README.md", "words")
        .with("outbox/001.sql", "select 1");
    let catalogue = read(&folder.0).unwrap();
    let names: Vec<_> = catalogue.iter().map(|event| event.name()).collect();
    assert_eq!(names, ["parcel.lost"]);
}

#[test]
fn the_repository_s_own_folder_is_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let (read, built_in) = (read(&folder).unwrap(), Catalogue::builtin().unwrap());
    let fingerprints = |catalogue: &Catalogue| -> Vec<_> {
        catalogue
            .iter()
            .map(|event| (event.full_name().to_owned(), event.fingerprint()))
            .collect()
    };
    assert_eq!(fingerprints(&read), fingerprints(&built_in));
}

#[test]
fn what_does_not_fit_is_named() {
    let folder = Folder::fitting("unfit").with("parcel.lost/template.txt", "{{ data.name }}");
    let refusal = folder.refusal();
    for part in [
        "tidings-schemas-",
        "parcel.lost/template.txt",
        "data.name",
        "correct the name",
    ] {
        assert!(refusal.contains(part), "{refusal}");
    }
    let folder = Folder::fitting("command")
        .with("parcel.send/type.toml", DECLARATION)
        .with("parcel.send/v1.avsc", DATA)
        .with("parcel.send/template.txt", "x");
    assert!(
        folder
            .refusal()
            .contains("parcel.send: \"send\" is not in the past tense"),
        "{}",
        folder.refusal()
    );
    let folder = Folder::fitting("no-type").with("parcel.found/v1.avsc", DATA);
    assert!(
        folder.refusal().contains("there is no type.toml"),
        "{}",
        folder.refusal()
    );
    let folder = Folder::fitting("number").with("parcel.lost/v01.avsc", DATA);
    assert!(
        folder.refusal().contains("name it v1.avsc"),
        "{}",
        folder.refusal()
    );
    let folder = Folder::fitting("envelope").with("envelope.avsc", "{}");
    assert!(
        folder.refusal().contains("envelope.avsc: it differs"),
        "{}",
        folder.refusal()
    );
    let folder = Folder::fitting("stray").with("parcel.lost/template.v2.txt", "x");
    assert!(
        folder.refusal().contains("there is no v2.avsc"),
        "{}",
        folder.refusal()
    );
    assert!(
        Folder::new("empty")
            .refusal()
            .contains("it has no event type")
    );
}

#[test]
fn sizes_are_bounded() {
    let long = "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1);
    let folder = Folder::fitting("long").with("parcel.lost/template.txt", &long);
    assert!(
        folder.refusal().contains("longer than 65536 bytes"),
        "{}",
        folder.refusal()
    );
    let fits = "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap());
    let folder = Folder::fitting("composed").with("parcel.lost/template.txt", &fits);
    assert!(
        folder
            .refusal()
            .contains("shorten the docs or the template"),
        "{}",
        folder.refusal()
    );
    let mut folder = Folder::fitting("versions");
    for version in 2..=MAX_VERSIONS + 1 {
        folder = folder.with(&format!("parcel.lost/v{version}.avsc"), DATA);
    }
    assert!(
        folder.refusal().contains("more than 100 versions"),
        "{}",
        folder.refusal()
    );
    let missing = Folder::new("missing");
    fs::remove_dir_all(&missing.0).unwrap();
    assert!(missing.refusal().contains("cannot be read"));
}

#[test]
fn a_version_may_have_its_own_template() {
    let newer = DATA.replace("\"id\"", "\"number\"");
    let folder = Folder::fitting("older")
        .with("parcel.lost/v2.avsc", &newer)
        .with("parcel.lost/template.txt", "Lost: {{ data.number }}");
    assert!(
        folder.refusal().contains("template.v1.txt"),
        "{}",
        folder.refusal()
    );
    let folder = folder.with("parcel.lost/template.v1.txt", "Lost: {{ data.id }}");
    let catalogue = read(&folder.0).unwrap();
    let versions: Vec<_> = catalogue
        .iter()
        .map(|event| event.template_version())
        .collect();
    assert_eq!(versions, [Some(1), Some(2)]);
}

#[test]
fn editions_are_found_by_version() {
    let folder = Folder::fitting("editions").with("parcel.lost/history/v1.3.avsc", DATA);
    let found = editions(&folder.0).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].event_type.as_str(), found[0].version),
        ("parcel.lost", 1)
    );
    assert_eq!(found[0].file, "parcel.lost/history/v1.3.avsc");
    let folder = folder.with("parcel.lost/history/old.avsc", DATA);
    assert!(
        editions(&folder.0)
            .unwrap_err()
            .to_string()
            .contains("name it v<N>")
    );
}
