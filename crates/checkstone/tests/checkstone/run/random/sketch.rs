//! A plan as the test has it in mind: stages of real programs that make something else whenever anything of them changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use super::super::Project;
use super::super::kills::Random;
#[cfg(feature = "python")]
use super::super::python::environment;

/// Whatever a command stage is given makes up its output: what it was called with, and the contents of its inputs.
const WORK: &str = r#"set -e
test ! -e "$FLAKY" -o -z "$FLAKY" || { rm "$FLAKY"; exit 1; }
digest=$({
    echo "$@"
    for name in $(env | grep -o '^CHECKSTONE_INPUT_[A-Z0-9_]*' | sort); do
        path=$(printenv "$name")
        case $name in
            *_GATHERED*) xargs cat < "$path" ;;
            *_FOLDER*) (cd "$path" && find . -type f | sort | xargs cat) ;;
            *) cat "$path" ;;
        esac
    done
} | cksum | cut -d ' ' -f 1)
cd "$CHECKSTONE_ARTIFACT_DIR"
echo "$digest of $*" > out.txt
echo '[CHECKPOINT:saved:id=half]'
seq -f "line%g.$digest" $((digest % 3 + 1)) > lines.txt
mkdir parts
for part in $(seq $((digest % 2 + 1))); do echo "$digest" > "parts/part$part"; done
"#;

/// The same in Python, with what the cells before it left in the session.
const CELL: &str = r#"
import os, zlib
from pathlib import Path
left = globals().get('left', [])
given = ['VALUE', '{params.one}', *left]
for name in sorted(name for name in os.environ if name.startswith('CHECKSTONE_INPUT_')):
    path = Path(os.environ[name])
    if '_GATHERED' in name:
        given += [Path(line).read_text() for line in path.read_text().splitlines()]
    elif '_FOLDER' in name:
        given += [file.read_text() for file in sorted(path.rglob('*')) if file.is_file()]
    else:
        given.append(path.read_text())
digest = zlib.crc32(repr(given).encode())
left = left + [digest]
folder = Path(os.environ['CHECKSTONE_ARTIFACT_DIR'])
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
    Lines(usize),
    Files(usize),
    /// As another stage, which has instances.
    As(usize),
}

#[derive(Clone, Debug)]
struct SketchStage {
    number: usize,
    value: u64,
    is_python: bool,
    each: Each,
    /// Numbers of stages before it, and which output of theirs.
    inputs: Vec<(usize, &'static str)>,
    /// Files of the project.
    files: Vec<u64>,
    when: Option<&'static str>,
    is_flaky: bool,
}

pub(super) struct Sketch {
    stages: Vec<SketchStage>,
    parameters: BTreeMap<&'static str, String>,
    set: BTreeMap<&'static str, String>,
    files: [u64; 3],
    folder: Vec<u64>,
    script: u64,
    has_python: bool,
}

impl Sketch {
    pub(super) fn new(random: &mut Random) -> Self {
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
            script: 0,
            has_python: cfg!(feature = "python") && random.below(3) == 0,
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
        let each = match random.below(9) {
            0 | 1 => Each::Parameter,
            2 => any(random, &ones).map_or(Each::One, Each::Lines),
            3 => any(random, &ones).map_or(Each::One, Each::Files),
            4 => any(random, &many).map_or(Each::One, Each::As),
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
        self.stages.push(SketchStage {
            number,
            value: random.below(1000),
            is_python: self.has_python && random.below(3) > 0,
            each,
            inputs,
            files: (0..4).filter(|_| random.below(4) == 0).collect(),
            when: match random.below(8) {
                0 => Some("params.flag"),
                1 => Some("not params.flag"),
                _ => None,
            },
            is_flaky: random.below(5) == 0,
        });
    }

    fn is_many(&self, number: usize) -> bool {
        self.stages.iter().any(|stage| stage.number == number && !matches!(stage.each, Each::One))
    }

    pub(super) fn set(&self) -> impl Iterator<Item = String> {
        self.set.iter().flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")])
    }

    /// A run is killed within so many milliseconds; a kernel alone takes one second to start.
    pub(super) fn longest(&self) -> u64 {
        if self.has_python { 6000 } else { 1800 }
    }

    /// With the Python of the tests.
    pub(super) fn prepared(&self, mut command: Command) -> Command {
        #[cfg(feature = "python")]
        if self.has_python {
            command.env("VIRTUAL_ENV", environment());
        }
        command.env("LC_ALL", "C");
        command
    }

    pub(super) fn plan(&self) -> String {
        let mut text = "title = \"study\"\n[python]\nvariables = true\n[params]\n".to_owned();
        for (name, value) in &self.parameters {
            writeln!(text, "{name} = {value}").unwrap();
        }
        // Something has to be there, whatever is left out.
        text += "[[stage]]\nstageId = \"S00_begin_study\"\ngoal = \"Begin the study\"\ncommand = 'true'\n";
        for stage in &self.stages {
            writeln!(text, "[[stage]]\nstageId = \"{}\"", Self::id(stage.number)).unwrap();
            text += "goal = \"Make what the others read\"\nretries = 2\n";
            text += OUTPUTS;
            let own = match stage.each {
                Each::One => "",
                _ => "{params.x}",
            };
            let value = format!("{}-{own}", stage.value);
            match stage.is_python {
                true => {
                    writeln!(text, "kind = \"python\"\ncommand = '''{}'''", CELL.replace("VALUE", &value))
                        .unwrap()
                }
                false => writeln!(text, "command = ['sh', 'work.sh', '{value}', '{{params.one}}']").unwrap(),
            }
            if stage.is_flaky {
                writeln!(text, "environment = {{ FLAKY = \"flaky-{}\" }}", stage.number).unwrap();
            }
            let list = |kind: &str, of: usize, output: &str| {
                format!("{{ x = {{ {kind} = \"{}/{output}\" }} }}", Self::id(of))
            };
            match stage.each {
                Each::One => {}
                Each::Parameter => text += "forEach = { x = \"{params.list}\" }\n",
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
            writeln!(text, "inputs = {{ {} }}", files.chain(inputs).collect::<Vec<_>>().join(", ")).unwrap();
        }
        text
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
        write("work.sh", &WORK.replace("of $*", &format!("by {} of $*", self.script)));
        for (number, content) in self.files.iter().enumerate() {
            write(&format!("raw-{number}.txt"), &format!("{content}\n"));
        }
        for number in 0..3 {
            let path = project.path(&format!("raw/{number}"));
            match self.folder.get(number) {
                Some(content) => write(&format!("raw/{number}"), &format!("{content}\n")),
                None => drop(std::fs::remove_file(path)),
            }
        }
        for stage in self.stages.iter().filter(|stage| stage.is_flaky) {
            project.workplace.write(&format!("flaky-{}", stage.number), "");
        }
    }

    /// Changes something, and says what.
    pub(super) fn edit(&mut self, random: &mut Random, project: &Project) -> String {
        let count = u64::try_from(self.stages.len()).unwrap();
        let at = usize::try_from(random.below(count)).unwrap();
        let value = random.below(4);
        let number = self.stages[at].number;
        match random.below(13) {
            0 | 11 | 12 => {
                self.stages[at].value = value;
                format!("stage {number} has the value {value}")
            }
            1 => {
                let file = usize::try_from(random.below(3)).unwrap();
                self.files[file] = value;
                format!("file {file} is {value}")
            }
            2 => {
                self.folder = (0..1 + random.below(3)).map(|_| random.below(3)).collect();
                format!("the folder has {:?}", self.folder)
            }
            3 | 4 => {
                let (name, value) = match random.below(3) {
                    0 => ("one", value.to_string()),
                    1 => ("flag", (value < 2).to_string()),
                    _ => ("list", format!("{:?}", (0..=value).collect::<Vec<_>>())),
                };
                let values = if random.below(2) == 0 { &mut self.set } else { &mut self.parameters };
                values.insert(name, value.clone());
                format!("{name} is {value}")
            }
            5 => {
                self.add_stage(random);
                "another stage".to_owned()
            }
            6 if count > 1 => {
                // Nobody reads what the last one makes.
                self.stages.pop();
                "the last stage is gone".to_owned()
            }
            7 => {
                self.script = value;
                format!("the script is {value}")
            }
            8 => {
                self.stages[at].when = ["params.flag", "not params.flag"].into_iter().nth(at % 3);
                format!("stage {number} has another condition")
            }
            _ => {
                let published = project.path(&format!("reports/study/r1/{}", Self::id(number)));
                match value {
                    0 => drop(std::fs::remove_dir_all(&published)),
                    1 => drop(std::fs::remove_file(published.join("out.txt"))),
                    _ if published.join("out.txt").exists() => {
                        std::fs::write(published.join("out.txt"), "forged\n").unwrap();
                    }
                    _ => {}
                }
                format!("what stage {number} published is lost or forged ({value})")
            }
        }
    }
}
