//! Notebooks on disk, beside a person who saves them too, and before the eyes of Jupyter's own library.

use std::path::{Path, PathBuf};

use checkpoint::manifest::Manifest;
use kernel::notebook::{NewCell, Notebook, checkpoint_cell_id, last_executed, stage_cell_id};
use serde_json::{Value, json};

use crate::python::run_script;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("notebooks/churn.ipynb")
    }

    fn open(&self) -> Notebook {
        Notebook::open(&self.path(), "python3", Some("3.11.7"))
    }

    fn read(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.path()).unwrap()).unwrap()
    }

    fn write(&self, text: &str) {
        std::fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        std::fs::write(self.path(), text).unwrap();
    }

    fn sources(&self) -> Vec<String> {
        let notebook = self.read();
        let source = |cell: &Value| match &cell["source"] {
            Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
            text => text.as_str().unwrap().to_owned(),
        };
        notebook["cells"].as_array().unwrap().iter().map(source).collect()
    }
}

fn cell(stage: &str, source: &str) -> NewCell {
    NewCell { id: stage_cell_id("run-001", stage, 1), source: source.to_owned(), ..NewCell::default() }
}

/// Fails where Jupyter's library finds anything wrong, or would write the file differently.
fn check_by_nbformat(path: &Path) {
    run_script(
        "import sys, nbformat\n\
         text = open(sys.argv[1], encoding='utf-8').read()\n\
         notebook = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT)\n\
         nbformat.validate(notebook, relax_add_props=False)\n\
         assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)\n\
         again = nbformat.writes(notebook) + '\\n'\n\
         assert again == text, [pair for pair in zip(again.splitlines(), text.splitlines()) if pair[0] != pair[1]][:3]",
        &[path],
    );
}

#[test]
fn jupyter_reads_what_we_write_and_would_write_the_same() {
    let place = Place::new();
    let mut notebook = place.open();
    let outputs = vec![
        json!({"output_type": "stream", "name": "stdout", "text": "one\rtwo\u{2028}\n\u{1b}[31mred\u{1b}[0m é\n"}),
        json!({"output_type": "display_data", "metadata": {"z": 1, "a": {}}, "data": {"text/plain": "a\nb", "image/png": "aGk=\n", "application/json": {"b": "x\ny", "a": []}}}),
        json!({"output_type": "execute_result", "execution_count": 1, "data": {"text/plain": "42"}, "metadata": {}}),
        json!({"output_type": "error", "ename": "E", "evalue": "", "traceback": ["line\nline"]}),
    ];
    notebook.put(NewCell {
        outputs,
        execution_count: Some(1),
        ..cell("S01_load_data", "print('one')\n40 + 2")
    });
    let manifest: Manifest = serde_json::from_value(json!({
        "checkpointId": "ckpt-001", "researchSessionID": "run-001", "reportTitle": "churn", "runId": "run-001",
        "stageId": "S01_load_data", "status": "saved", "createdAt": "2026-01-01T10:00:00Z", "executionCount": 1,
        "notebook": {"path": "n.ipynb", "checkpointCellId": checkpoint_cell_id("run-001", "S01_load_data", 1)},
        "pythonEnv": {"pythonPath": "none", "packages": [], "platform": "linux"}, "artifacts": [],
        "rehydration": {"mode": "artifacts_only", "rehydrationCellSource": []},
    }))
    .unwrap();
    let path = "reports/churn/checkpoints/run-001/ckpt-001/checkpoint.json";
    notebook.put(NewCell::checkpoint(&manifest, path));
    notebook.save().unwrap();
    check_by_nbformat(&place.path());
    let checkpoint = &place.read()["cells"][1];
    assert_eq!(checkpoint["metadata"]["tags"], json!(["gyoshu-checkpoint"]));
    assert_eq!(
        checkpoint["metadata"]["gyoshu"],
        json!({"checkpointId": "ckpt-001", "createdAt": "2026-01-01T10:00:00Z", "stageId": "S01_load_data", "type": "checkpoint"})
    );
    assert_eq!(checkpoint["execution_count"], Value::Null);
    assert_eq!(checkpoint["outputs"], json!([]));
    assert_eq!(
        place.sources()[1],
        "# [CHECKPOINT:saved:id=ckpt-001:stage=S01_load_data:manifest=reports/churn/checkpoints/run-001/ckpt-001/checkpoint.json]\n\
         # 2026-01-01T10:00:00Z\n\
         print(\"[CHECKPOINT:saved:id=ckpt-001:stage=S01_load_data:manifest=reports/churn/checkpoints/run-001/ckpt-001/checkpoint.json]\")"
    );
}

#[test]
fn what_a_person_saved_meanwhile_stays_byte_for_byte() {
    let place = Place::new();
    let mut notebook = place.open();
    notebook.put(cell("S01_load_data", "load()"));
    notebook.save().unwrap();
    let theirs = "  {\"cell_type\": \"code\", \"id\": \"mine\", \"metadata\": {\"big\": 123456789012345678901234567890, \"tiny\": 1e-400},\n\
                  \"outputs\": [], \"execution_count\": 7, \"source\": \"my own\"}";
    let text = std::fs::read_to_string(place.path()).unwrap();
    let text = text.replace("\n  }\n ],", &format!("\n  }},\n{theirs}\n ],"));
    let text = text.replace(
        " \"metadata\": {\n  \"kernelspec\"",
        " \"metadata\": {\n  \"theirs\": 1.50,\n  \"kernelspec\"",
    );
    place.write(&text);

    notebook.put(NewCell { execution_count: Some(1), ..cell("S01_load_data", "load()") });
    notebook.put(cell("S02_train_model", "train()"));
    notebook.save().unwrap();
    assert_eq!(place.sources(), ["load()", "my own", "train()"]);
    assert_eq!(place.read()["cells"][0]["execution_count"], 1);
    let saved = std::fs::read_to_string(place.path()).unwrap();
    assert!(saved.contains(theirs.trim_start()), "{saved}");
    assert!(saved.contains("\"theirs\": 1.50"), "{saved}");
}

#[test]
fn cells_that_a_person_overwrote_with_an_older_copy_come_back_in_their_order() {
    let place = Place::new();
    let mut notebook = place.open();
    notebook.put(cell("S01_load_data", "load()"));
    notebook.save().unwrap();
    let older = std::fs::read_to_string(place.path()).unwrap();
    for (stage, source) in [("S02_train_model", "train()"), ("S03_test_model", "test()")] {
        notebook.put(cell(stage, source));
        notebook.save().unwrap();
    }
    let theirs = "\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"n\",\n   \"metadata\": {},\n   \"source\": [\"note\"]\n  }\n ],";
    place.write(&older.replace("\n  }\n ],", theirs));
    notebook.put(cell("S04_write_report", "report()"));
    notebook.save().unwrap();
    assert_eq!(place.sources(), ["load()", "train()", "test()", "note", "report()"]);
}

#[test]
fn a_cell_of_ours_that_a_person_edited_is_theirs() {
    let place = Place::new();
    let mut notebook = place.open();
    notebook.put(cell("S01_load_data", "load()"));
    notebook.save().unwrap();
    place.write(&std::fs::read_to_string(place.path()).unwrap().replace("load()", "load(better=True)"));
    notebook.put(NewCell { execution_count: Some(1), ..cell("S01_load_data", "load()") });
    notebook.save().unwrap();
    assert_eq!(place.sources(), ["load(better=True)", "load()"]);
    check_by_nbformat(&place.path());
    notebook.save().unwrap();
    assert_eq!(place.sources(), ["load(better=True)", "load()"]);
}

#[test]
fn jupyter_saving_the_notebook_between_our_saves_changes_nothing() {
    let place = Place::new();
    let mut notebook = place.open();
    notebook.put(cell("S01_load_data", "load()\nmore()"));
    notebook.save().unwrap();
    // With texts in one piece, and metadata of its own, as a browser does it.
    run_script(
        "import sys, json\nn = json.load(open(sys.argv[1]))\nc = n['cells'][0]\nc['source'] = ''.join(c['source'])\n\
         c['metadata']['collapsed'] = True\njson.dump(n, open(sys.argv[1], 'w'))",
        &[&place.path()],
    );
    notebook.put(NewCell { execution_count: Some(3), ..cell("S01_load_data", "load()\nmore()") });
    notebook.save().unwrap();
    let saved = place.read();
    assert_eq!(saved["cells"].as_array().unwrap().len(), 1);
    assert_eq!(saved["cells"][0]["metadata"]["collapsed"], true);
    assert_eq!(saved["cells"][0]["execution_count"], 3);
}

#[test]
fn an_older_notebook_gets_the_ids_that_it_lacks() {
    let place = Place::new();
    place.write(
        "{\"cells\": [{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": \"# Mine\"}], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 4}",
    );
    let mut notebook = place.open();
    notebook.put(cell("S01_load_data", "load()"));
    notebook.save().unwrap();
    assert_eq!(place.sources(), ["# Mine", "load()"]);
    run_script(
        "import sys, nbformat\nnbformat.validate(nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT))",
        &[&place.path()],
    );
}

#[test]
fn what_is_no_notebook_of_version_4_is_left_alone() {
    let mut errors = Vec::new();
    for text in ["not json", "{\"cells\": 3, \"nbformat\": 4}", "{\"worksheets\": [], \"nbformat\": 3}", "{}"]
    {
        let place = Place::new();
        place.write(text);
        let mut notebook = place.open();
        notebook.put(cell("S01_load_data", "load()"));
        errors.push(sandbox::redacted(notebook.save().unwrap_err().to_string()));
        assert_eq!(std::fs::read_to_string(place.path()).unwrap(), text);
    }
    insta::assert_snapshot!(errors.join("\n"), @"
    `[folder]/notebooks/churn.ipynb` is not a notebook (expected ident at line 1 column 2), and nothing is written to it: move it away, or fix it
    `[folder]/notebooks/churn.ipynb` is not a notebook (invalid type: integer `3`, expected a sequence at line 1 column 1), and nothing is written to it: move it away, or fix it
    `[folder]/notebooks/churn.ipynb` is a notebook of format 3, and nothing is written to it: open it in Jupyter and save it as version 4
    `[folder]/notebooks/churn.ipynb` is a notebook of format 0, and nothing is written to it: open it in Jupyter and save it as version 4
    ");
}

#[test]
fn runs_that_write_one_notebook_at_once_lose_nothing() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for run in 0..4 {
            let mut notebook = place.open();
            scope.spawn(move || {
                for stage in 0..10 {
                    let id = stage_cell_id(&format!("run-{run}"), &format!("S{stage:02}_do_it"), 1);
                    notebook.put(NewCell { id, source: format!("{run}.{stage}"), ..NewCell::default() });
                    notebook.save().unwrap();
                }
            });
        }
    });
    let mut sources = place.sources();
    for run in 0..4 {
        let own: Vec<&String> =
            sources.iter().filter(|source| source.starts_with(&format!("{run}."))).collect();
        assert!(own.is_sorted() && own.len() == 10, "{own:?}");
    }
    sources.sort();
    sources.dedup();
    assert_eq!(sources.len(), 40);
}

/// R11: what lies in the lock file of an owner that is gone does not matter.
#[test]
fn a_lock_file_of_a_dead_owner_does_not_block() {
    let place = Place::new();
    place.write("");
    for content in ["", "{\"pid\": 999999", "\0\0\0"] {
        std::fs::write(place.path().with_file_name(".churn.ipynb.lock"), content).unwrap();
        let mut notebook = place.open();
        notebook.put(cell("S01_load_data", "load()"));
        notebook.save().unwrap();
    }
    assert_eq!(place.sources(), ["load()"]);
}

#[test]
fn the_last_executed_cell_is_known() {
    let place = Place::new();
    assert_eq!(last_executed(&place.path()).unwrap(), None);
    let mut notebook = place.open();
    notebook.put(NewCell { execution_count: Some(5), ..cell("S01_load_data", "load()") });
    notebook.put(cell("S02_train_model", "train()"));
    notebook.save().unwrap();
    let last = last_executed(&place.path()).unwrap().unwrap();
    assert_eq!((last.place, last.execution_count), (0, 5));
    assert_eq!(last.id, stage_cell_id("run-001", "S01_load_data", 1));
}
