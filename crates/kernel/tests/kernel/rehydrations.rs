//! What a checkpoint held, back in a fresh kernel: every variable compared with what it was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use checkpoint::layout::Layout;
use checkpoint::manifest::{RehydrationMode, Sealed, TrustLevel};
use checkpoint::{Depth, SaveRequest};
use jiff::Timestamp;
use kernel::CellEnding;
use kernel::python_environment;
use kernel::rehydration::{self, Checkpoint, Pickles, SavedVariables, Way};
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::TestRunner;
use sandbox::redacted;
use serde_json::json;

use crate::python::run_script;
use crate::session::{Session, text_of};

const STAGE: &str = "S01_load_data";

fn layout(project: &Path) -> Layout {
    Layout::new(project, "churn", "run-001").unwrap()
}

/// A checkpoint of everything in the stage's folder.
fn save(session: &mut Session, trust: TrustLevel, second: i64) -> Sealed {
    let layout = layout(&session.project);
    let mut artifacts = Vec::new();
    collect(&layout.published(STAGE).unwrap(), &mut artifacts);
    artifacts.sort();
    let now = Timestamp::from_second(1_770_000_000 + second).unwrap();
    let request = SaveRequest {
        artifacts,
        trust,
        python_env: python_environment::describe(&mut session.kernel, &[("random", 7), ("numpy", 7)])
            .unwrap(),
        rehydrate: Some(rehydration::in_manifest),
        ..SaveRequest::new(STAGE, now)
    };
    checkpoint::save(&layout, &request).unwrap().sealed
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

/// The stage's folder, below the project.
fn stage_folder(session: &Session) -> String {
    let layout = layout(&session.project);
    let folder = layout.published(STAGE).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    layout.relative(&folder)
}

fn last_valid(project: &Path) -> checkpoint::CheckpointSearch {
    checkpoint::last_valid(project, "churn", Some("run-001"), Depth::Full).unwrap()
}

/// `same(a, b)` for whatever a session can hold.
const SAME: &str = "
import numpy as _n, pandas as _p
def same(a, b):
    if type(a) is not type(b): return False
    if isinstance(a, _p.DataFrame): _p.testing.assert_frame_equal(a, b); return True
    if isinstance(a, _p.Series): _p.testing.assert_series_equal(a, b); return True
    if isinstance(a, _n.ndarray): return a.dtype == b.dtype and a.shape == b.shape and (
        all(map(same, a.ravel().tolist(), b.ravel().tolist())) if a.dtype.hasobject else _n.array_equal(a, b, equal_nan=a.dtype.kind == 'f'))
    if isinstance(a, float): return a == b or (a != a and b != b)
    if isinstance(a, dict): return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)): return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, 'tobytes') and hasattr(a, 'size'): return a.tobytes() == b.tobytes()
    return a == b
";

#[test]
fn every_variable_is_back_after_the_kernel_was_killed() {
    let mut session = Session::new();
    let executed = session.execute(
        r"
import collections, datetime, decimal, random
import numpy as np, pandas as pd
import os.path as paths
random.seed(7); np.random.seed(7)
number, text, flag, nothing = 42, 'naïve “text”\n', True, None
ratio, infinite, missing, large, imaginary = 0.1, float('inf'), float('nan'), 2**100, 1 + 2j
plain = {'a': [1, 2.5, None, {'b': []}], 'ключ': 'значение'}
pair, letters, raw, when = (1, 'x'), {'a', 'b'}, b'\x00\xff', datetime.datetime(2026, 1, 1)
price, counts = decimal.Decimal('1.10'), collections.Counter('aab')
integer_keys = {1: 'a', 2: 'b'}
array, image, scalar = np.arange(12.0).reshape(3, 4), np.zeros((2, 2, 3), dtype='uint8'), np.float32(1.5)
objects = np.array([{'x': 1}, None], dtype=object)
structured = np.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f8')])
frame = pd.DataFrame({'a': [1, 2, 3], 'b': ['x', None, 'z'], 'c': pd.to_datetime(['2026-01-01'] * 3), 'd': pd.Categorical(['u', 'v', 'u'])})
indexed = frame.set_index(['a', 'b'])
odd_columns = pd.DataFrame({1: [1], ('x', 'y'): [2]})
series = pd.Series([1.5, None], name='s', index=['p', 'q'])
nameless = pd.Series([1, 2, 3])
json = 'a name that hides a module'
größe = 3
_private = [1]
def function(): return number
class Here: pass
instance = Here()
nested = {'deep': [instance]}
handle = open('output.log')
generator = (n for n in range(3))
drawn = random.random(), float(np.random.rand())
",
    );
    assert_eq!(executed.ending, CellEnding::Finished, "{:?}", executed.outputs);
    let artifacts = stage_folder(&session);
    let saved =
        SavedVariables::save(&mut session.kernel, &session.project, &artifacts, Duration::from_secs(60))
            .unwrap();

    // Nothing is dropped without a word.
    let unsaved: Vec<(&str, &str)> =
        saved.unsaved.iter().map(|one| (one.name.as_str(), one.why.as_str())).collect();
    let names: Vec<&str> = unsaved.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["generator", "handle"], "{unsaved:?}");
    insta::assert_snapshot!(redacted(unsaved[1].1), @"TypeError: an open file cannot be saved");
    let modules: Vec<&str> = saved.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(modules, ["collections", "datetime", "decimal", "np", "paths", "pd", "random"]);

    let executed = session.execute(
        "import pickle\n\
         _mine = ['number','text','flag','nothing','ratio','infinite','missing','large','imaginary','plain','pair','letters','raw','when','price','counts','integer_keys','array','image','scalar','objects','structured','frame','indexed','odd_columns','series','nameless','json','größe','_private','drawn']\n\
         _next = random.random(), float(np.random.rand())\n\
         pickle.dump(({name: globals()[name] for name in _mine}, _next), open('reference.pickle', 'wb'))",
    );
    assert_eq!(executed.ending, CellEnding::Finished, "{:?}", executed.outputs);
    let sealed = save(&mut session, TrustLevel::Local, 0);
    assert_eq!(sealed.manifest.rehydration.mode, RehydrationMode::WithVars);

    let mut session = session.restart();
    let found = last_valid(&session.project).checkpoint.unwrap();
    let manifest = &found.sealed.manifest;
    let index = SavedVariables::index_of(manifest).unwrap();
    let variables = SavedVariables::read(&session.project, index).unwrap();
    let cell = rehydration::cell(&Checkpoint::of(manifest, Some(&variables)), Pickles::Load);
    assert_eq!(cell.withheld, []);
    let executed = session.execute(&cell.text());
    assert_eq!(executed.ending, CellEnding::Finished, "{}\n{:?}", cell.text(), executed.outputs);
    assert_eq!(text_of(&executed), format!("{}\n", rehydration::marker(&manifest.checkpoint_id)));

    let compared = session.execute(&format!(
        "{SAME}\nimport pickle as _k\n_reference, _next = _k.load(open('reference.pickle', 'rb'))\n\
         _wrong = [name for name in _reference if name not in globals() or not same(globals()[name], _reference[name])]\n\
         assert not _wrong, [(n, globals().get(n), _reference[n]) for n in _wrong]\n\
         assert len(_reference) == 31\n\
         assert (random.random(), float(np.random.rand())) == _next\n\
         assert paths.join('a', 'b') == 'a/b'"
    ));
    assert_eq!(compared.ending, CellEnding::Finished, "{:?}", compared.outputs);
}

/// Runs the code, saves the session, kills the kernel, and brings the session back into a new one.
fn brought_back(code: &str) -> (Session, SavedVariables) {
    let mut session = Session::new();
    let executed = session.execute(code);
    assert_eq!(executed.ending, CellEnding::Finished, "{:?}", executed.outputs);
    let artifacts = stage_folder(&session);
    let limit = Duration::from_secs(60);
    let saved = SavedVariables::save(&mut session.kernel, &session.project, &artifacts, limit).unwrap();
    let sealed = save(&mut session, TrustLevel::Local, 0);
    let mut session = session.restart();
    let cell = rehydration::cell(&Checkpoint::of(&sealed.manifest, Some(&saved)), Pickles::Load);
    assert_eq!(cell.withheld, []);
    let executed = session.execute(&cell.text());
    assert_eq!(executed.ending, CellEnding::Finished, "{}\n{:?}", cell.text(), executed.outputs);
    (session, saved)
}

#[track_caller]
fn holds(session: &mut Session, checks: &str) {
    let checked = session.execute(checks);
    assert_eq!(checked.ending, CellEnding::Finished, "{:?}", checked.outputs);
}

fn unsaved(saved: &SavedVariables) -> Vec<String> {
    saved.unsaved.iter().map(|variable| format!("{}: {}", variable.name, variable.why)).collect()
}

#[test]
fn functions_classes_instances_and_closures_come_back_and_belong_to_the_session() {
    let (mut session, saved) = brought_back(
        r"
import dataclasses, enum, functools, math
from math import sqrt
from pandas import DataFrame
number = 1
def read(): return number
def write(value):
    global number
    number = value
def counter():
    count = 0
    def add():
        nonlocal count
        count += 1
        return count
    return add
add = counter(); add()
double = lambda value: 2 * value
class Base:
    def name(self): return 'base'
class Here(Base):
    made = []
    def __init__(self, value): self.value = value; Here.made.append(self)
    def name(self): return super().name() + str(number)
    @property
    def half(self): return self.value / 2
@dataclasses.dataclass
class Point:
    x: int = 3
class Colour(enum.Enum):
    RED = 1
instance, point, red = Here(4), Point(5), Colour.RED
bound, partial = instance.name, functools.partial(double, 4)
def uses_file(): return handle
handle = open('output.log')
everything = globals()
",
    );
    assert_eq!(unsaved(&saved), ["handle: TypeError: an open file cannot be saved"]);
    holds(
        &mut session,
        r"
assert read() == 1
number = 2
assert read() == 2, 'it reads what the session has now'
write(3)
assert number == 3 and instance.name() == 'base3' and bound() == 'base3'
assert add() == 2 and double(3) == 6 and partial() == 8
assert type(instance) is Here and isinstance(instance, Base) and Here.made[0] is instance and instance.half == 2
assert bound.__self__ is instance and point == Point(5) and red is Colour.RED
assert sqrt(4) == 2 and DataFrame({'a': [1]}).shape == (1, 1)
assert everything is globals() and read.__globals__ is globals()
try: uses_file()
except NameError: pass
else: assert False
",
    );
}

/// What would be saved by its name alone is saved with its code, or named: it must not take the rest with it.
#[test]
fn cached_functions_come_back_or_are_named() {
    let code = "import functools\n@functools.lru_cache(maxsize=7)\ndef half(n): return n / 2\nhalf(2); holder = [half]; kept = {1}";
    let (mut session, saved) = brought_back(code);
    assert_eq!(unsaved(&saved), [""; 0]);
    holds(
        &mut session,
        "assert half(4) == 2 and holder[0] is half and half.cache_parameters()['maxsize'] == 7 and half.__name__ == 'half'",
    );
    let (mut session, saved) =
        brought_back(&format!("import sys\nsys.modules['cloudpickle'] = None\n{code}"));
    let names: Vec<&str> = saved.unsaved.iter().map(|unsaved| unsaved.name.as_str()).collect();
    assert_eq!(names, ["half", "holder"]);
    holds(&mut session, "assert kept == {1}");
}

/// A lock that nobody holds is like a new one.
#[test]
fn what_has_locks_in_it_comes_back_unless_they_are_held() {
    let (mut session, saved) = brought_back(
        "import functools, queue, threading\n\
         class Cached:\n    @functools.cached_property\n    def value(self): return 42\n\
         cached = Cached(); cached.value\n\
         waiting = queue.Queue(); waiting.put('work')\n\
         lock = threading.Lock(); same = [lock]; held = threading.Lock(); held.acquire()\n\
         thread = threading.Thread(target=print)\n\
         @functools.singledispatch\ndef kind(thing): return 'any'\n\
         @kind.register\ndef _(thing: int): return 'whole'",
    );
    assert_eq!(
        unsaved(&saved),
        [
            "held: TypeError: a lock that somebody holds cannot be saved",
            "thread: TypeError: a thread cannot be saved"
        ]
    );
    holds(
        &mut session,
        "
assert cached.value == 42 and Cached().value == 42 and waiting.get_nowait() == 'work'
assert lock.acquire(blocking=False) and same[0] is lock
assert kind(1) == 'whole' and kind('') == 'any'
",
    );
}

/// A file that is used as an array is that file again, whatever its size: a copy would be written to in its place.
#[test]
fn arrays_in_files_are_those_files_again() {
    let (mut session, saved) = brought_back(
        "import numpy as np\n\
         table = np.memmap('table.dat', dtype='int32', mode='w+', shape=(3, 4)); table[:] = 1; table.flush()\n\
         row = table[1]; part = np.memmap('table.dat', dtype='int32', mode='r', shape=(12,))[4:6]",
    );
    assert_eq!(unsaved(&saved), [""; 0]);
    holds(
        &mut session,
        "
table[1, 0] = 7; table.flush()
assert row[0] == 7 and part[0] == 7 and np.fromfile('table.dat', dtype='int32')[4] == 7
",
    );
}

#[test]
fn settings_of_libraries_come_back() {
    let (mut session, saved) = brought_back(
        "import numpy as np, pandas as pd, matplotlib.pyplot as plt\n\
         plt.style.use('ggplot'); plt.rcParams['figure.figsize'] = (3, 2)\n\
         pd.set_option('display.max_rows', 7); pd.options.display.float_format = lambda number: f'{number:.2f}'\n\
         np.set_printoptions(precision=2); np.seterr(divide='raise')\n\
         colors = plt.rcParams['axes.prop_cycle']; numpy = 'a name that hides a module'",
    );
    assert_eq!(saved.settings, ["matplotlib", "numpy-errors", "numpy-printing", "pandas"]);
    holds(
        &mut session,
        "
assert list(plt.rcParams['figure.figsize']) == [3, 2] and plt.rcParams['axes.prop_cycle'] == colors
assert pd.get_option('display.max_rows') == 7 and pd.options.display.float_format(1) == '1.00'
assert np.get_printoptions()['precision'] == 2 and np.geterr()['divide'] == 'raise'
assert numpy == 'a name that hides a module' and 'pandas' not in globals()
",
    );
    let (_, saved) = brought_back("import numpy, pandas, matplotlib.pyplot");
    assert_eq!(saved.settings, [""; 0], "nobody has set anything");
}

#[test]
fn two_names_of_one_object_stay_one() {
    let (mut session, saved) = brought_back(
        r"
import numpy as np, pandas as pd
rows = [1, 2]; also = rows; inside = {'rows': rows, 'more': (rows,)}
grid = [[0] * 2] * 3
frame = pd.DataFrame({'a': [1]}); same_frame = frame; holder = {'frame': frame}
array = np.zeros(4); again = array; view = array[1:]; inside_out = {'reversed': array[::-1]}
table = np.arange(6).reshape(2, 3); row = table[1]; turned = table.T
columns = np.zeros((2, 3), order='F'); column = columns[:, 1]
loop = []; loop.append(loop)
alone, lonely = [1, [2]], np.ones(2)
",
    );
    assert_eq!(unsaved(&saved), [""; 0]);
    let ways: Vec<(&str, Way)> = saved.saved.iter().map(|one| (one.name.as_str(), one.way)).collect();
    let is_plain = |one: &&(&str, Way)| one.1 != Way::Session;
    let plain: Vec<&(&str, Way)> = ways.iter().filter(is_plain).collect();
    let expected = [("alone", Way::Value), ("column", Way::Npy), ("columns", Way::Npy), ("lonely", Way::Npy)];
    assert_eq!(plain, expected.each_ref());
    let copies: Vec<(&str, &str)> =
        saved.copies.iter().map(|copy| (copy.name.as_str(), copy.of.as_str())).collect();
    assert_eq!(copies, [("columns", "column")], "nobody can begin in the middle of another order");
    holds(
        &mut session,
        "
assert also is rows and inside['rows'] is rows and inside['more'][0] is rows
rows.append(3); assert also == [1, 2, 3]
grid[0].append(1); assert grid[2] == [0, 0, 1]
assert same_frame is frame and holder['frame'] is frame
assert again is array and loop[0] is loop
assert alone == [1, [2]] and lonely.tolist() == [1, 1] and view.tolist() == [0, 0, 0]
array[3] = 7; assert view[2] == 7 and inside_out['reversed'][0] == 7
table[1, 2] = 8; assert row[2] == 8 and turned[2, 1] == 8
",
    );
}

#[test]
fn without_cloudpickle_it_is_told_what_would_be_saved_with_it() {
    let (mut session, saved) = brought_back(
        "import sys\nsys.modules['cloudpickle'] = None\ndef helper(): pass\nclass Here: pass\nnested, value = [Here()], {1}",
    );
    let sentence =
        "is defined in the session and not in a module; with cloudpickle in its environment it is saved";
    assert_eq!(
        unsaved(&saved),
        [
            format!("Here: Here {sentence}"),
            format!("helper: helper {sentence}"),
            format!("nested: Here {sentence}")
        ]
    );
    holds(&mut session, "assert value == {1}");
}

/// Named at the checkpoint, when something can still be done, and not at the resume.
#[test]
fn what_could_be_saved_and_not_loaded_is_named_when_it_is_saved() {
    let (mut session, saved) = brought_back(
        r"
class Strict(Exception):
    def __init__(self, one, two): super().__init__(one)
strict = Strict(1, 2)
good = {1, 2}
",
    );
    assert_eq!(
        unsaved(&saved),
        ["strict: Unloadable: TypeError: Strict.__init__() missing 1 required positional argument: 'two'"]
    );
    holds(
        &mut session,
        "assert good == {1, 2} and issubclass(Strict, Exception) and 'strict' not in globals()",
    );
}

#[test]
fn imports_paths_and_environment_variables_that_cells_set_come_back() {
    let (mut session, saved) = brought_back(
        r"
import importlib, os, pathlib, sys, types
import xml.etree.ElementTree
pathlib.Path('mine').mkdir(); pathlib.Path('mine/local_module.py').write_text('value = 7')
sys.path.insert(0, os.path.abspath('mine')); sys.path.append('/behind')
import local_module as local
from local_module import value as imported
os.environ['MINE'] = '1'; del os.environ['HOME']
made = types.ModuleType('made')
",
    );
    assert_eq!(unsaved(&saved), ["made: ImportError: no module made can be imported"]);
    holds(
        &mut session,
        "
assert xml.etree.ElementTree.fromstring('<a/>').tag == 'a'
assert local.value == 7 and imported == 7
assert sys.path[0] == os.path.abspath('mine') and sys.path[-1] == '/behind'
assert os.environ['MINE'] == '1' and 'HOME' not in os.environ
",
    );
}

#[test]
fn artifacts_of_every_kind_are_loaded_again() {
    let mut session = Session::new();
    let folder = stage_folder(&session);
    let executed = session.execute(&format!(
        r"
import json, pathlib, pickle, joblib, numpy as np, pandas as pd, PIL.Image
out = pathlib.Path('{folder}')
frame = pd.DataFrame({{'a': [1, 2], 'b': ['x', 'y']}})
frame.to_parquet(out / 'data.parquet'); frame.to_csv(out / 'data.csv', index=False); frame.to_feather(out / 'table.feather')
frame.to_csv(out / 'packed.csv.gz', index=False); frame.to_csv(out / 'tabs.tsv', sep='\t', index=False)
(out / 'data.json').write_text(json.dumps({{'k': [1, None]}})); (out / 'lines.jsonl').write_text('{{}}\n[1]\n')
np.save(out / 'array.npy', np.arange(3)); np.savez(out / 'arrays.npz', a=np.ones(2), b=np.zeros(1))
np.save(out / 'objects.npy', np.array([{{}}], dtype=object), allow_pickle=True)
joblib.dump({{'model': [1]}}, out / 'model.joblib'); pickle.dump((1, 2), (out / 'class.pkl').open('wb'))
PIL.Image.new('RGB', (2, 3), 'red').save(out / 'plot.png'); (out / 'notes.txt').write_text('naïve', encoding='utf-8')
(out / 'weights.bin').write_bytes(b'\x00')
"
    ));
    assert_eq!(executed.ending, CellEnding::Finished, "{:?}", executed.outputs);
    let sealed = save(&mut session, TrustLevel::Local, 0);
    assert_eq!(sealed.manifest.rehydration.mode, RehydrationMode::ArtifactsOnly);
    let mut session = session.restart();
    let cell = rehydration::cell(&Checkpoint::of(&sealed.manifest, None), Pickles::Load);
    assert_eq!(cell.source, sealed.manifest.rehydration.rehydration_cell_source);
    let executed = session.execute(&cell.text());
    assert_eq!(executed.ending, CellEnding::Finished, "{}\n{:?}", cell.text(), executed.outputs);
    let checks = "
frame = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})
for other in (data_parquet, data_csv, table, packed_csv, tabs): pd.testing.assert_frame_equal(frame, other)
assert data_json == {'k': [1, None]} and lines == [{}, [1]]
assert array.tolist() == [0, 1, 2] and {k: v.tolist() for k, v in arrays.items()} == {'a': [1, 1], 'b': [0]}
assert objects.tolist() == [{}] and model == {'model': [1]} and class_ == (1, 2)
assert plot.size == (2, 3) and plot.getpixel((0, 0)) == (255, 0, 0) and notes == 'naïve'
assert weights.read_bytes() == b'\\x00'
import random as _r; _a = _r.random(); _r.seed(7); assert _a == _r.random()
";
    let checked = session.execute(checks);
    assert_eq!(checked.ending, CellEnding::Finished, "{:?}", checked.outputs);
}

/// R9
#[test]
fn an_imported_checkpoint_runs_no_code_of_its_own_until_it_is_confirmed() {
    let mut session = Session::new();
    let folder = stage_folder(&session);
    let executed = session.execute(&format!(
        r"
import joblib, json, os, pathlib, pickle, numpy as np
out = pathlib.Path('{folder}')
class Evil:
    def __reduce__(self): return (os.mkdir, ('pwned',))
pickle.dump(Evil(), (out / 'model.pkl').open('wb')); joblib.dump(Evil(), out / 'model.joblib')
(out / 'checkstone-variables').mkdir()
pickle.dump(Evil(), (out / 'checkstone-variables/v1.pickle').open('wb'))
(out / 'checkstone-variables/evil.py').write_text('import os; os.mkdir(\'pwned\')')
(out / 'checkstone-variables/values.json').write_text(json.dumps({{'values': {{'good': 1}}}}))
module = '.'.join((out / 'checkstone-variables/evil').parts)
(out / 'checkstone-variables/index.json').write_text(json.dumps({{
    'saved': [{{'name': 'bad', 'as': 'pickle', 'file': 'v1.pickle'}}, {{'name': 'good', 'as': 'value'}},
              {{'name': 'x; import os; os.mkdir(\'pwned\')', 'as': 'value'}}, {{'name': '__builtins__', 'as': 'value'}},
              {{'name': 'outside', 'as': 'npy', 'file': '../../../../../etc/passwd'}}],
    'modules': [{{'name': 'm', 'module': module}}, {{'name': 'n', 'module': 'os; os.mkdir(\'pwned\')'}}],
    'unsaved': [], 'generators': ['numpy; bad']}}))
"
    ));
    assert_eq!(executed.ending, CellEnding::Finished, "{:?}", executed.outputs);
    let sealed = save(&mut session, TrustLevel::Imported, 0);
    let written = sealed.manifest.rehydration.rehydration_cell_source.join("\n");
    insta::assert_snapshot!(redacted(&written), @r#"
    # What checkpoint "ckpt-000001-[id]" had, loaded again.
    import numpy as np
    import random
    import contextlib
    with contextlib.suppress(ImportError):
        import pandas as pd
    random.seed(7)
    np.random.seed(7)
    # Not loaded: "reports/churn/run-001/S01_load_data/model.joblib": loading it can run code, and this checkpoint is not confirmed.
    # Not loaded: "reports/churn/run-001/S01_load_data/model.pkl": loading it can run code, and this checkpoint is not confirmed.
    print("[REHYDRATED:from=ckpt-000001-[id]]")
    "#);
    let mut session = session.restart();
    let variables =
        SavedVariables::read(&session.project, SavedVariables::index_of(&sealed.manifest).unwrap()).unwrap();
    let checkpoint = Checkpoint::of(&sealed.manifest, Some(&variables));
    let cell = rehydration::cell(&checkpoint, Pickles::for_trust(sealed.manifest.trust()));
    let executed = session.execute(&cell.text());
    // The value that its file does not have is the one thing that fails, after the good one is there.
    assert!(
        matches!(executed.ending, CellEnding::Raised { ref name, .. } if name == "KeyError"),
        "{:?}",
        executed.outputs
    );
    assert_eq!(session.value("good"), json!(1));
    assert!(!session.project.join("pwned").exists(), "{}", cell.text());
    assert_eq!(cell.withheld.len(), 7, "{:?}", cell.withheld);

    session.execute("import pickle");
    let confirmed = rehydration::cell(&checkpoint, Pickles::Load);
    insta::assert_snapshot!(redacted(confirmed.text()), @r#"
    # What checkpoint "ckpt-000001-[id]" had, loaded again.
    import joblib
    import json
    import numpy as np
    import pathlib
    import pickle
    import random
    import contextlib
    with contextlib.suppress(ImportError):
        import pandas as pd
    random.seed(7)
    np.random.seed(7)
    model_joblib = joblib.load("reports/churn/run-001/S01_load_data/model.joblib")
    model_pkl = pickle.loads(pathlib.Path("reports/churn/run-001/S01_load_data/model.pkl").read_bytes())
    _checkstone_values = json.loads(pathlib.Path("reports/churn/run-001/S01_load_data/checkstone-variables/values.json").read_text(encoding="utf-8"))
    bad = pickle.loads(pathlib.Path("reports/churn/run-001/S01_load_data/checkstone-variables/v1.pickle").read_bytes())
    good = _checkstone_values["values"]["good"]
    globals()["x; import os; os.mkdir('pwned')"] = _checkstone_values["values"]["x; import os; os.mkdir('pwned')"]
    # Not loaded: "reports/churn/run-001/S01_load_data/checkstone-variables/values.json": its name is reserved by Python.
    # Not loaded: "reports/churn/run-001/S01_load_data/checkstone-variables/../../../../../etc/passwd": it is not among the checkpoint's artifacts.
    print("[REHYDRATED:from=ckpt-000001-[id]]")
    "#);
}

#[test]
fn where_the_newest_checkpoint_is_damaged_the_one_before_it_is_brought_back() {
    let mut session = Session::new();
    let folder = stage_folder(&session);
    let step = |session: &mut Session, value: i64| {
        session.execute(&format!(
            "import json, pathlib\npathlib.Path('{folder}/step.json').write_text('{value}')"
        ));
        save(session, TrustLevel::Local, value)
    };
    let (first, second, third) = (step(&mut session, 1), step(&mut session, 2), step(&mut session, 3));
    let layout = layout(&session.project);
    // The newest has a byte changed in its manifest; the one before it has lost its artifact.
    let manifest = layout.manifest(&third.manifest.checkpoint_id).unwrap();
    std::fs::write(&manifest, std::fs::read_to_string(&manifest).unwrap().replace(STAGE, "S01_load_date"))
        .unwrap();
    let digest = &second.manifest.artifacts[0].sha256;
    let object = layout.store().join(&digest[..2]).join(digest);
    std::fs::remove_file(&object).unwrap();

    let mut session = session.restart();
    let found = last_valid(&session.project);
    assert_eq!(found.searched, 3);
    assert_eq!(found.skipped.len(), 2);
    let usable = found.checkpoint.unwrap();
    assert_eq!(usable.id, first.manifest.checkpoint_id);
    checkpoint::restore(&layout, &usable.to_restore).unwrap();
    let cell = rehydration::cell(&Checkpoint::of(&usable.sealed.manifest, None), Pickles::Load);
    assert_eq!(session.execute(&cell.text()).ending, CellEnding::Finished);
    assert_eq!(session.value("step"), json!(1));
}

/// R13, with a real environment.
#[test]
fn the_environment_of_a_kernel_is_what_pip_says() {
    let mut session = Session::new();
    let environment = python_environment::describe(&mut session.kernel, &[]).unwrap();
    let listed = run_script(
        "import importlib.metadata as m; print('\\n'.join(sorted({f'{d.name}=={d.version}' for d in m.distributions()})))",
        &[],
    );
    assert_eq!(environment.packages.join("\n"), listed.trim());
    assert!(environment.packages.iter().any(|package| package.starts_with("pandas==")));
    assert_eq!(environment.platform, "linux");
    assert_eq!(python_environment::drift(&environment, &environment), Vec::<String>::new());
}

/// File names are data: whatever they contain, the cell is valid Python, which loads exactly these paths and calls nothing
/// but loaders.
#[test]
fn no_file_name_becomes_code() {
    let mut runner = TestRunner::deterministic();
    let name = proptest::string::string_regex("(?s).{0,20}").unwrap();
    let ends = [
        "",
        ".csv",
        ".json",
        ".pkl",
        ".npz",
        ".png",
        ".txt",
        ".jsonl",
        ".parquet",
        "\"); import os\n.py",
        "'''\\",
    ];
    let mut cells = Vec::new();
    for _ in 0..400 {
        let count = (1..5_usize).new_tree(&mut runner).unwrap().current();
        let paths: Vec<String> = (0..count)
            .map(|place| {
                let end = ends[(cells.len() + place) % ends.len()];
                format!("reports/{}{end}", name.new_tree(&mut runner).unwrap().current())
            })
            .collect();
        let id = name.new_tree(&mut runner).unwrap().current();
        let artifacts: Vec<&str> = paths.iter().map(String::as_str).collect();
        let checkpoint = Checkpoint {
            id: &id,
            artifacts,
            packages: vec!["pillow==1", &id],
            imports: vec![(&id, "os"), ("module", &id)],
            seeds: vec![(&id, 3)],
            variables: None,
        };
        let cell = rehydration::cell(&checkpoint, Pickles::Load);
        assert!(cell.source.iter().all(|line| !line.contains(['\n', '\r'])));
        let names: Vec<&str> = cell.variables.iter().map(|variable| variable.name.as_str()).collect();
        cells.push(json!({"source": cell.text(), "paths": paths, "names": names, "marker": rehydration::marker(&id)}));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cells.json");
    std::fs::write(&file, serde_json::to_vec(&cells).unwrap()).unwrap();
    run_script(
        r"
import ast, builtins, json, keyword, sys
allowed = {'read_csv', 'read_parquet', 'read_text', 'read_bytes', 'loads', 'load', 'Path', 'print', 'open', 'copy', 'strip', 'suppress'}
for cell in json.load(open(sys.argv[1], encoding='utf-8')):
    tree = ast.parse(cell['source'])
    nodes = list(ast.walk(tree))
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for text in cell['paths'] + [cell['marker']]:
        assert text in texts, (text, cell['source'])
    for call in (n for n in nodes if isinstance(n, ast.Call)):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        assert called in allowed, cell['source']
    assert len(set(cell['names'])) == len(cell['names']) == len(cell['paths'])
    for name in cell['names']:
        assert name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name), name
",
        &[&file],
    );
}
