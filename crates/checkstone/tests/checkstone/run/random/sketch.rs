//! A plan as the test has it in mind: stages of real programs that make something else whenever anything of them changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::super::Project;
use super::super::kills::Random;
#[cfg(feature = "python")]
use super::super::python::environment;

/// Whatever a command stage is given makes up its output: what it was called with, where, and the contents of its inputs. What
/// an earlier attempt saved half-way is used as it is.
const WORK: &str = r#"set -e
digest=$({
    echo "$@" "$MORE" "$(basename "$PWD")"
    test -z "$SIDE" || cat "$SIDE"
    test -z "$CHECKSTONE_INPUTS" || grep -v '"path":' "$CHECKSTONE_INPUTS"
    for name in $(env | grep -o '^CHECKSTONE_INPUT_[A-Z0-9_]*' | sort); do
        path=$(printenv "$name")
        case $name in
            *_GATHERED*) xargs cat < "$path" ;;
            *_FOLDER*) (cd "$path" && find . -type d -empty && find . -type f | sort && find . -type f | sort | xargs cat) ;;
            *) cat "$path"; if test -x "$path"; then echo executable; fi ;;
        esac
    done
} | cksum | cut -d ' ' -f 1)
saved=${CHECKSTONE_RESUME_DIR:-nowhere}/half.txt
if test -e "$saved"; then digest=$(cat "$saved"); fi
test -z "$WRITES" || echo "$digest" > "$WRITES"
cd "$CHECKSTONE_ARTIFACT_DIR"
echo "$digest" > half.txt
echo '[CHECKPOINT:saved:id=half]'
test -z "$SLOW" || sleep 0.1
cd "$OLDPWD"
if test -n "$FLAKY" && test -e "$FLAKY"; then rm "$FLAKY"; exit 1; fi
cd "$CHECKSTONE_ARTIFACT_DIR"
echo "$digest of $*" > out.txt
seq -f "line%g.$digest" $((digest % 3 + 1)) > lines.txt
mkdir parts
for part in $(seq $((digest % 2 + 1))); do echo "$digest" > "parts/part$part"; done
"#;

/// The same by way of Python, with a module of the project that imports another one.
const WRAPPED: &str = "import subprocess, sys\nimport study_code\n\
    sys.exit(subprocess.call(['sh', 'work.sh', *sys.argv[1:], str(study_code.number)]))\n";

/// The same in Python, with what the cells before it left in the session. An attempt that fails leaves something as well. Each
/// time it leaves a mark that no other one has, and says which ones it found.
const CELL: &str = r#"
import os, random, sys, uuid, zlib
from pathlib import Path
from study_code import number
marks = globals().get('marks', []) + [uuid.uuid4().hex]
left = globals().get('left', [])
count = globals().get('count', 0) + 1
flaky = Path(os.environ.get('FLAKY', 'nothing'))
if flaky.exists():
    flaky.unlink()
    raise RuntimeError('not yet')
given = ['VALUE', '{params.one}', number, os.environ['MORE'], Path.cwd().name, count, random.random(), *left]
given.append(Path(sys.executable).name)
if 'CHECKSTONE_INPUTS' in os.environ:
    described = Path(os.environ['CHECKSTONE_INPUTS']).read_text().splitlines()
    given += [line for line in described if '"path":' not in line]
if 'SIDE' in os.environ:
    given.append(Path(os.environ['SIDE']).read_text())
for name in sorted(name for name in os.environ if name.startswith('CHECKSTONE_INPUT_')):
    path = Path(os.environ[name])
    if '_GATHERED' in name:
        given += [Path(line).read_text() for line in path.read_text().splitlines()]
    elif '_FOLDER' in name:
        given += [(file.name, file.read_text()) for file in sorted(path.rglob('*')) if file.is_file()]
    else:
        given.append(path.read_text())
digest = zlib.crc32(repr(given).encode())
left = left + [digest]
if 'WRITES' in os.environ:
    Path(os.environ['WRITES']).write_text(str(digest))
folder = Path(os.environ['CHECKSTONE_ARTIFACT_DIR'])
(folder / 'found.txt').write_text(' '.join(marks))
(folder / 'out.txt').write_text(f'{digest} after {len(left)}\n')
(folder / 'lines.txt').write_text(''.join(f'line{number}.{digest}\n' for number in range(digest % 3 + 1)))
(folder / 'parts').mkdir()
for part in range(digest % 2 + 1):
    (folder / 'parts' / f'part{part}').write_text(f'{digest}\n')
"#;

const OUTPUTS: &str = "outputs = { out = \"out.txt\", lines = \"lines.txt\", parts = \"parts/\" }\n";

#[derive(Clone, Debug)]
enum Each {
    One,
    Parameter,
    /// Of a file of the project.
    ProjectLines,
    Lines(usize),
    Files(usize),
    /// As another stage, which has instances.
    As(usize),
}

/// What runs a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Means {
    Shell,
    /// By way of Python, which imports modules of the project.
    Wrapped,
    Cell,
    CellFile,
}

impl Means {
    fn is_python(self) -> bool {
        matches!(self, Self::Cell | Self::CellFile)
    }
}

#[derive(Clone, Debug)]
struct SketchStage {
    number: usize,
    value: u64,
    /// In its environment.
    more: u64,
    /// What its `verify` adds.
    verified: Option<u64>,
    means: Means,
    each: Each,
    /// Numbers of stages before it, and which output of theirs.
    inputs: Vec<(usize, &'static str)>,
    /// The stage whose file beside its outputs it reads, named in `dependencies` alone.
    side_of: Option<usize>,
    /// Files of the project.
    files: Vec<u64>,
    when: Option<&'static str>,
    is_flaky: bool,
    is_slow: bool,
    is_in_folder: bool,
    /// Its instances make the same, whatever they are run for.
    is_same_for_all: bool,
    /// Declares an output that it does not write.
    lacks_output: bool,
}

pub(super) struct Sketch {
    stages: Vec<SketchStage>,
    parameters: BTreeMap<&'static str, String>,
    set: BTreeMap<&'static str, String>,
    files: [u64; 3],
    folder: Vec<u64>,
    /// The number of the first file in there, which is its name.
    first_name: usize,
    /// Whether the first of the files can be executed, and whether the folder has one without files in it.
    is_executable: bool,
    has_empty_folder: bool,
    list: Vec<u64>,
    script: u64,
    module: u64,
    seed: u64,
    has_python: bool,
    /// Of two names of the same one.
    interpreter: &'static str,
    has_variables: bool,
    /// What the program overlooks on purpose.
    planted: Option<String>,
}

/// What can change of the files of the project.
#[derive(Clone, Copy)]
enum FileEdit {
    Content(usize),
    Executable,
    /// Of the folder: its files, what they are called, and whether it has a folder without files.
    Folder,
    Name,
    EmptyFolder,
    List,
    Script,
    Module,
}

/// What the environment of Python has, twice.
const INTERPRETERS: [&str; 2] = ["python", "python3"];

/// Another one of the first four.
fn another(random: &mut Random, than: u64) -> u64 {
    (than + 1 + random.below(3)) % 4
}

impl Sketch {
    pub(super) fn new(random: &mut Random, planted: Option<&str>) -> Self {
        let mut sketch = Self {
            stages: Vec::new(),
            parameters: BTreeMap::from([
                ("one", "1".to_owned()),
                ("flag", "true".to_owned()),
                ("list", "[1, 2]".to_owned()),
            ]),
            set: BTreeMap::new(),
            files: [0, 1, 2],
            folder: vec![7],
            first_name: 0,
            is_executable: false,
            has_empty_folder: false,
            list: vec![1, 2],
            script: 0,
            module: 0,
            seed: 0,
            has_python: cfg!(feature = "python") && random.below(3) == 0,
            interpreter: "python3",
            has_variables: true,
            planted: planted.map(str::to_owned),
        };
        for _ in 0..2 + random.below(4) {
            sketch.add_stage(random);
        }
        sketch
    }

    fn id(number: usize) -> String {
        format!("S{number:02}_make_thing")
    }

    fn add_stage(&mut self, random: &mut Random) {
        let number = self.stages.last().map_or(1, |stage| stage.number + 1);
        let any = |random: &mut Random, numbers: &[usize]| -> Option<usize> {
            let count = u64::try_from(numbers.len()).unwrap();
            (count > 0).then(|| numbers[usize::try_from(random.below(count)).unwrap()])
        };
        let is_one = |stage: &&SketchStage| matches!(stage.each, Each::One);
        let ones: Vec<usize> = self.stages.iter().filter(is_one).map(|stage| stage.number).collect();
        let many: Vec<usize> =
            self.stages.iter().filter(|stage| !is_one(stage)).map(|stage| stage.number).collect();
        let each = match random.below(10) {
            0 | 1 => Each::Parameter,
            2 => any(random, &ones).map_or(Each::One, Each::Lines),
            3 => any(random, &ones).map_or(Each::One, Each::Files),
            4 => any(random, &many).map_or(Each::One, Each::As),
            5 => Each::ProjectLines,
            _ => Each::One,
        };
        let mut inputs: Vec<(usize, &'static str)> = Vec::new();
        for _ in 0..random.below(3) {
            let all: Vec<usize> = ones.iter().chain(&many).copied().collect();
            let output = ["out.txt", "lines", "parts"][usize::try_from(random.below(3)).unwrap()];
            let of = any(random, &all).filter(|of| inputs.iter().all(|(known, _)| known != of));
            // All folders of many stages would have to be read one by one.
            inputs.extend(of.map(|of| (of, if many.contains(&of) { "out" } else { output })));
        }
        // Where a stage is left out nobody says what its file beside its outputs holds.
        let always = |number: &&usize| {
            self.stages.iter().any(|stage| stage.number == **number && self.runs_always(stage))
        };
        let sides: Vec<usize> = ones.iter().filter(always).copied().collect();
        let side_of = if random.below(4) == 0 { any(random, &sides) } else { None };
        let means = match (random.below(6), self.has_python) {
            (0..3, true) => Means::Cell,
            (3, true) => Means::CellFile,
            (4, _) | (3, false) => Means::Wrapped,
            _ => Means::Shell,
        };
        self.stages.push(SketchStage {
            number,
            value: random.below(1000),
            more: random.below(1000),
            verified: (random.below(5) == 0).then(|| random.below(1000)),
            means,
            each,
            inputs,
            side_of,
            files: (0..4).filter(|_| random.below(4) == 0).collect(),
            when: match random.below(8) {
                0 => Some("params.flag"),
                1 => Some("not params.flag"),
                _ => None,
            },
            is_flaky: random.below(5) == 0,
            is_slow: random.below(3) == 0,
            is_in_folder: random.below(6) == 0,
            is_same_for_all: random.below(2) == 0,
            lacks_output: false,
        });
    }

    /// Whether no condition can leave it out.
    fn runs_always(&self, stage: &SketchStage) -> bool {
        let list = match stage.each {
            Each::Lines(of) | Each::Files(of) | Each::As(of) => Some(of),
            _ => None,
        };
        let mut read = stage.inputs.iter().map(|(of, _)| *of).chain(list);
        let is_always =
            |of: usize| self.stages.iter().any(|stage| stage.number == of && self.runs_always(stage));
        stage.when.is_none() && read.all(is_always)
    }

    /// Lets one stage that cannot be left out declare an output that it does not write, and says which.
    pub(super) fn declare_too_much(&mut self, random: &mut Random) -> Option<usize> {
        let any = usize::try_from(random.below(u64::try_from(self.stages.len()).unwrap())).unwrap();
        let place = Some(any).filter(|any| self.runs_always(&self.stages[*any]))?;
        self.stages[place].lacks_output = true;
        Some(self.stages[place].number)
    }

    pub(super) fn declare_enough(&mut self) {
        self.stages.iter_mut().for_each(|stage| stage.lacks_output = false);
    }

    /// Changes all cells; whether there are any.
    pub(super) fn change_cells(&mut self, random: &mut Random) -> bool {
        let mut has_cells = false;
        for cell in self.stages.iter_mut().filter(|stage| stage.means.is_python()) {
            cell.value = another(random, cell.value);
            has_cells = true;
        }
        has_cells
    }

    pub(super) fn change_last_cell(&mut self, random: &mut Random) {
        let last = self.stages.iter_mut().rfind(|stage| stage.means.is_python());
        last.into_iter().for_each(|last| last.value = another(random, last.value));
    }

    #[cfg(feature = "planted-faults")]
    pub(super) fn may_have_cells(&self) -> bool {
        self.has_python
    }

    pub(super) fn save_variables(&mut self, has_variables: bool) {
        self.has_variables = has_variables;
    }

    fn is_many(&self, number: usize) -> bool {
        self.stages.iter().any(|stage| stage.number == number && !matches!(stage.each, Each::One))
    }

    pub(super) fn set(&self) -> impl Iterator<Item = String> {
        self.set.iter().flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")])
    }

    /// About as many events as a run of it has.
    pub(super) fn events(&self) -> u64 {
        6 + 6 * u64::try_from(self.stages.len()).unwrap()
    }

    /// With the Python of the tests.
    pub(super) fn prepared(&self, mut command: Command) -> Command {
        #[cfg(feature = "python")]
        if self.has_python {
            command.env("VIRTUAL_ENV", environment());
        }
        if let Some(planted) = &self.planted {
            command.env("CHECKSTONE_PLANTED_FAULT", planted);
        }
        command.env("LC_ALL", "C");
        command
    }

    pub(super) fn plan(&self) -> String {
        let mut text = format!("title = \"study\"\n[python]\nseed = {}\n", self.seed);
        #[cfg(feature = "python")]
        if self.has_python {
            let interpreter = environment().join("bin").join(self.interpreter);
            writeln!(text, "interpreter = \"{}\"", interpreter.display()).unwrap();
        }
        writeln!(text, "variables = {}\n[params]", self.has_variables).unwrap();
        for (name, value) in &self.parameters {
            writeln!(text, "{name} = {value}").unwrap();
        }
        // Something has to be there, whatever is left out.
        text += "[[stage]]\nstageId = \"S00_begin_study\"\ngoal = \"Begin the study\"\ncommand = 'true'\n";
        for stage in &self.stages {
            self.write_stage(stage, &mut text);
        }
        text
    }

    fn write_stage(&self, stage: &SketchStage, text: &mut String) {
        writeln!(text, "[[stage]]\nstageId = \"{}\"", Self::id(stage.number)).unwrap();
        *text += "goal = \"Make what the others read\"\nretries = 2\n";
        match stage.lacks_output {
            true => *text += &OUTPUTS.replace(" }", ", none = \"none.txt\" }"),
            false => *text += OUTPUTS,
        }
        let own = match stage.each {
            Each::One => "",
            _ if stage.is_same_for_all => "",
            _ => "{params.x}",
        };
        let value = format!("{}-{own}", stage.value);
        let up = if stage.is_in_folder { "../" } else { "" };
        let command = match stage.means {
            Means::Shell => format!("['sh', 'work.sh', '{value}', '{{params.one}}']"),
            Means::Wrapped => format!("['python3', 'work.py', '{value}', '{{params.one}}']"),
            Means::Cell => format!("'''{}'''", CELL.replace("VALUE", &value)),
            Means::CellFile => format!("[\"cell-{}.py\"]", stage.number),
        };
        if stage.means.is_python() {
            *text += "kind = \"python\"\n";
        }
        writeln!(text, "command = {command}").unwrap();
        if let Some(verified) = stage.verified {
            writeln!(text, "verify = 'echo {verified} >> \"$CHECKSTONE_ARTIFACT_DIR/out.txt\"'").unwrap();
        }
        if stage.is_in_folder {
            *text += "directory = \"inner\"\n";
        }
        let mut environment = vec![format!("MORE = \"{}-{own}\"", stage.more)];
        environment.extend(stage.is_flaky.then(|| format!("FLAKY = \"{up}flaky-{}\"", stage.number)));
        environment.extend(stage.is_slow.then(|| "SLOW = \"yes\"".to_owned()));
        environment.extend(stage.side_of.map(|of| format!("SIDE = \"{up}side-{of}\"")));
        if self.stages.iter().any(|other| other.side_of == Some(stage.number)) {
            environment.push(format!("WRITES = \"{up}side-{}\"", stage.number));
        }
        writeln!(text, "environment = {{ {} }}", environment.join(", ")).unwrap();
        if let Some(of) = stage.side_of {
            writeln!(text, "dependencies = [\"{}\"]", Self::id(of)).unwrap();
        }
        let list = |kind: &str, of: usize, output: &str| {
            format!("{{ x = {{ {kind} = \"{}/{output}\" }} }}", Self::id(of))
        };
        match stage.each {
            Each::One => {}
            Each::Parameter => *text += "forEach = { x = \"{params.list}\" }\n",
            Each::ProjectLines => *text += "forEach = { x = { lines = \"list.txt\" } }\n",
            Each::Lines(of) => writeln!(text, "forEach = {}", list("lines", of, "lines.txt")).unwrap(),
            Each::Files(of) => writeln!(text, "forEach = {}", list("files", of, "parts")).unwrap(),
            Each::As(of) => writeln!(text, "forEach = \"{}\"", Self::id(of)).unwrap(),
        }
        if let Some(when) = stage.when {
            writeln!(text, "when = \"{when}\"").unwrap();
        }
        let files = stage.files.iter().map(|file| match file {
            3 => "folder_3 = \"raw\"".to_owned(),
            file => format!("file_{file} = \"raw-{file}.txt\""),
        });
        let inputs = stage.inputs.iter().map(|(of, output)| {
            let id = Self::id(*of);
            match (matches!(stage.each, Each::As(other) if other == *of), self.is_many(*of), *output) {
                (true, ..) => format!("own_{of} = \"{id}/out\""),
                (_, true, _) => format!("gathered_{of} = \"{id}/*/out.txt\""),
                (.., "parts") => format!("folder_of_{of} = \"{id}/parts\""),
                _ => format!("of_{of} = \"{id}/{output}\""),
            }
        });
        // What a script starts is nobody's to know.
        let script = (stage.means == Means::Wrapped).then(|| "script = \"work.sh\"".to_owned());
        let inputs = files.chain(inputs).chain(script);
        writeln!(text, "inputs = {{ {} }}", inputs.collect::<Vec<_>>().join(", ")).unwrap();
    }

    /// All of it, as it is now.
    pub(super) fn write(&self, project: &Project) {
        let write = |path: &str, content: &str| {
            // What is as it was keeps its times.
            if std::fs::read_to_string(project.path(path)).ok().as_deref() != Some(content) {
                project.workplace.write(path, content);
            }
        };
        write("plan.toml", &self.plan());
        // A stage that is moved into the other folder finds the same there: nothing of it changes but the folder.
        for folder in ["", "inner/"] {
            let write = |path: &str, content: &str| write(&format!("{folder}{path}"), content);
            write("work.sh", &WORK.replace("of $*", &format!("by {} of $*", self.script)));
            write("work.py", WRAPPED);
            write("study_code/__init__.py", "from .numbers import number\n");
            write("study_code/numbers.py", &format!("number = {}\n", self.module));
            for stage in self.stages.iter().filter(|stage| stage.means == Means::CellFile) {
                // What stands in a file is the same for all instances.
                write(&format!("cell-{}.py", stage.number), &CELL.replace("VALUE", &stage.value.to_string()));
            }
        }
        write("list.txt", &self.list.iter().map(|line| format!("{line}\n")).collect::<String>());
        for (number, content) in self.files.iter().enumerate() {
            write(&format!("raw-{number}.txt"), &format!("{content}\n"));
        }
        let mode = if self.is_executable { 0o755 } else { 0o644 };
        let first = project.path("raw-0.txt");
        if std::fs::metadata(&first).unwrap().permissions().mode() & 0o777 != mode {
            std::fs::set_permissions(&first, Permissions::from_mode(mode)).unwrap();
        }
        let empty = project.path("raw/empty");
        match self.has_empty_folder {
            true => std::fs::create_dir_all(&empty).unwrap(),
            false => drop(std::fs::remove_dir(&empty)),
        }
        for number in 0..5_usize {
            let path = project.path(&format!("raw/{number}"));
            match number.checked_sub(self.first_name).and_then(|place| self.folder.get(place)) {
                Some(content) => write(&format!("raw/{number}"), &format!("{content}\n")),
                None => drop(std::fs::remove_file(path)),
            }
        }
        for stage in self.stages.iter().filter(|stage| stage.is_flaky) {
            project.workplace.write(&format!("flaky-{}", stage.number), "");
        }
    }

    /// Changes something that stages read or run while they are at it, and says what.
    pub(super) fn edit_files(&mut self, random: &mut Random) -> String {
        let edits = self.file_edits();
        let any = usize::try_from(random.below(u64::try_from(edits.len()).unwrap())).unwrap();
        match edits[any] {
            FileEdit::Executable => {
                self.is_executable ^= true;
                "file 0 can be executed, or no longer".to_owned()
            }
            FileEdit::EmptyFolder => {
                self.has_empty_folder ^= true;
                "the folder has an empty one, or no longer".to_owned()
            }
            FileEdit::Name => {
                self.first_name = (self.first_name + 1) % 3;
                format!("the first file in the folder is called {}", self.first_name)
            }
            FileEdit::Folder => {
                self.folder = (0..1 + random.below(3)).map(|_| random.below(3)).collect();
                format!("the folder has {:?}", self.folder)
            }
            FileEdit::Content(file) => {
                self.files[file] = another(random, self.files[file]);
                format!("file {file} is {}", self.files[file])
            }
            FileEdit::List => {
                self.list = (0..=random.below(4)).map(|_| random.below(5)).collect();
                // No two instances are run for the same.
                self.list.sort_unstable();
                self.list.dedup();
                format!("the list is {:?}", self.list)
            }
            FileEdit::Script => {
                self.script = another(random, self.script);
                format!("the script is {}", self.script)
            }
            FileEdit::Module => {
                self.module = another(random, self.module);
                format!("the module is {}", self.module)
            }
        }
    }

    /// Those that some stage would show.
    fn file_edits(&self) -> Vec<FileEdit> {
        let mut edits = vec![FileEdit::Script];
        for stage in &self.stages {
            edits.extend((stage.means != Means::Shell).then_some(FileEdit::Module));
            edits.extend(matches!(stage.each, Each::ProjectLines).then_some(FileEdit::List));
            for file in &stage.files {
                match file {
                    3 => edits.extend([FileEdit::Folder, FileEdit::Name, FileEdit::EmptyFolder]),
                    0 => edits.extend([FileEdit::Content(0), FileEdit::Executable]),
                    1 => edits.push(FileEdit::Content(1)),
                    _ => edits.push(FileEdit::Content(2)),
                }
            }
        }
        edits
    }

    /// Changes something, and says what: often something of the stage that was begun last, which may be half done.
    pub(super) fn edit(&mut self, random: &mut Random, project: &Project, begun: Option<usize>) -> String {
        let count = u64::try_from(self.stages.len()).unwrap();
        // Others go by these without reading them: the session begins with it, or they name it in `dependencies`.
        let first_cell = self.stages.iter().position(|stage| stage.means.is_python());
        let writes = |number: usize| self.stages.iter().any(|stage| stage.side_of == Some(number));
        let writers = self.stages.iter().enumerate().filter(|(_, stage)| writes(stage.number));
        let unread: Vec<usize> = writers.map(|(place, _)| place).chain(first_cell).collect();
        let any = usize::try_from(random.below(count)).unwrap();
        let is_begun = random.below(2) == 0;
        let begun = self.stages.iter().position(|stage| is_begun && Some(stage.number) == begun);
        let at = begun.unwrap_or(any);
        let value = random.below(4);
        let number = self.stages[at].number;
        match random.below(if unread.is_empty() { 20 } else { 29 }) {
            20..25 => {
                let stage = &mut self.stages[unread[any % unread.len()]];
                stage.value = another(random, stage.value);
                format!("stage {} has the value {}", stage.number, stage.value)
            }
            0..3 => {
                let stage = &mut self.stages[at];
                stage.value = another(random, stage.value);
                format!("stage {number} has the value {}", stage.value)
            }
            3 => {
                let stage = &mut self.stages[at];
                stage.more = another(random, stage.more);
                format!("the environment of stage {number} has {}", stage.more)
            }
            4..6 => {
                let (name, value) = match random.below(3) {
                    0 => ("one", value.to_string()),
                    1 => ("flag", (value < 2).to_string()),
                    _ => {
                        let first = random.below(3);
                        ("list", format!("{:?}", (first..=first + value).collect::<Vec<_>>()))
                    }
                };
                let values = if random.below(2) == 0 { &mut self.set } else { &mut self.parameters };
                values.insert(name, value.clone());
                format!("{name} is {value}")
            }
            6 => {
                self.add_stage(random);
                "another stage".to_owned()
            }
            7 if count > 1 => {
                // Nobody reads what the last one makes.
                self.stages.pop();
                "the last stage is gone".to_owned()
            }
            8 if !self.stages.iter().any(|stage| stage.side_of.is_some()) => {
                self.stages[at].when = ["params.flag", "not params.flag"].into_iter().nth(at % 3);
                format!("stage {number} has another condition")
            }
            9 => {
                let before = self.stages[at].verified.unwrap_or(0);
                self.stages[at].verified = Some(another(random, before)).filter(|value| *value > 0);
                format!("stage {number} has another `verify`")
            }
            10 => {
                self.stages[at].is_in_folder ^= true;
                format!("stage {number} is run elsewhere")
            }
            11 | 25 if first_cell.is_some() => {
                self.seed = another(random, self.seed);
                format!("the seed is {}", self.seed)
            }
            26 if first_cell.is_some() => {
                let [one, other] = INTERPRETERS;
                self.interpreter = if self.interpreter == one { other } else { one };
                format!("the interpreter is {}", self.interpreter)
            }
            14 => {
                self.stages[at].is_same_for_all ^= true;
                format!("the instances of stage {number} make the same, or no longer")
            }
            12..14 => {
                let instance = if self.is_many(number) { "_a" } else { "" };
                let published = project.path(&format!("reports/study/r1/{}{instance}", Self::id(number)));
                match value {
                    0 => drop(std::fs::remove_dir_all(&published)),
                    1 => drop(std::fs::remove_file(published.join("out.txt"))),
                    _ if published.join("out.txt").exists() => {
                        std::fs::write(published.join("out.txt"), "forged\n").unwrap();
                    }
                    _ => {}
                }
                // Now and then nothing is left that it could be brought back from.
                if random.below(4) == 0 {
                    drop(std::fs::remove_dir_all(project.path("reports/study/checkpoints/.store")));
                    return format!(
                        "what stage {number} published is lost or forged ({value}), and the store is gone"
                    );
                }
                format!("what stage {number} published is lost or forged ({value})")
            }
            _ => self.edit_files(random),
        }
    }
}
