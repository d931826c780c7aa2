//! What is said about exit statuses, against what bash really does: small programs are generated, run with
//! every command failing or succeeding, and no claim may be wrong.

use std::collections::BTreeMap;
use std::process::Command;

use programs::shell::{Attribution, Failed, Intents};

/// A generator that gives the same programs on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

struct Writer {
    dice: Dice,
    /// How many stubs `p0`, `p1`, … are used.
    stubs: usize,
}

impl Writer {
    fn stub(&mut self) -> String {
        self.stubs += 1;
        format!("p{}", self.stubs - 1)
    }

    fn piece(&mut self, depth: u64) -> String {
        if depth == 0 || self.stubs > 3 {
            return self.stub();
        }
        let depth = depth - 1;
        match self.dice.roll(24) {
            0..=2 => format!("{} && {}", self.piece(depth), self.piece(depth)),
            3 | 4 => format!("{} || {}", self.piece(depth), self.piece(depth)),
            5 | 6 => format!("{{ {}; {}; }}", self.piece(depth), self.piece(depth)),
            7 => format!("( {}; {} )", self.piece(depth), self.piece(depth)),
            8 => format!("! {{ {}; }}", self.piece(depth)),
            9 => format!("{{ {}; }} | {{ {}; }}", self.piece(depth), self.piece(depth)),
            10 => format!(
                "if {}; then {}; else {}; fi",
                self.piece(depth),
                self.piece(depth),
                self.piece(depth)
            ),
            11 => format!("if {}; then {}; fi", self.piece(depth), self.piece(depth)),
            12 => format!("for i in 1 2; do {}; done", self.piece(depth)),
            13 => format!("{{ {} || exit 1; }}", self.piece(depth)),
            14 => format!("{{ {} || exit 0; }}", self.piece(depth)),
            15 => format!("{{ {} && exit 1; }}", self.piece(depth)),
            16 => format!("{{ {}; exit $?; }}", self.piece(depth)),
            17 => format!("{{ {}; rc=$?; {}; exit $rc; }}", self.piece(depth), self.piece(depth)),
            18 => format!("x=$( {} )", self.piece(depth)),
            19 => format!(": \"$( {} )\"", self.piece(depth)),
            20 => format!("{{ {} || {{ {}; false; }}; }}", self.piece(depth), self.piece(depth)),
            21 => format!("case x in y) {};; *) {};; esac", self.piece(depth), self.piece(depth)),
            22 => format!("{{ {} & wait; }}", self.stub()),
            _ => format!("{{ {} | {{ {}; }}; exit ${{PIPESTATUS[0]}}; }}", self.stub(), self.piece(depth)),
        }
    }

    fn program(&mut self) -> String {
        self.stubs = 0;
        let options = ["", "", "set -e; ", "set -o pipefail; ", "set -eo pipefail\n", "set -e; set +e; "];
        let option = options[self.dice.roll(options.len() as u64) as usize];
        let body = match self.dice.roll(4) {
            0 => self.piece(3),
            1 => format!("{}; {}", self.piece(2), self.piece(2)),
            2 => format!("{}\n{}", self.piece(2), self.piece(2)),
            _ => format!("f() {{ {}; }}; f; {}", self.piece(1), self.piece(2)),
        };
        format!("{option}{body}")
    }
}

/// Runs the program for each mask of failing stubs; the status, and what each stub that ran returned.
fn run(program: &str, masks: u32) -> Vec<(bool, BTreeMap<String, bool>)> {
    // The stubs write to the error channel, which none of the programs redirects.
    let driver = r#"
        for n in 0 1 2 3 4 5 6 7 8 9; do
            eval "p$n() { if (( (MASK >> $n) & 1 )); then echo p$n 1 >&3; return 1; else echo p$n 0 >&3; fi; }"
            export -f "p$n"
        done
        for ((MASK = 0; MASK < MASKS; MASK++)); do
            export MASK
            echo "run" >&3
            bash -c "$PROGRAM" >/dev/null 2>&1 </dev/null
            echo "status $?" >&3
        done 3>&1
    "#;
    let output = Command::new("bash")
        .args(["-c", driver])
        .env("PROGRAM", program)
        .env("MASKS", masks.to_string())
        .output()
        .expect("bash runs");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut runs = Vec::new();
    for chunk in text.split("run\n").skip(1) {
        let mut status = false;
        let mut stubs = BTreeMap::new();
        for line in chunk.lines() {
            let (name, value) = line.split_once(' ').unwrap();
            if name == "status" {
                status = value == "0";
            } else {
                // A stub that failed once has failed.
                let succeeded = stubs.entry(name.to_owned()).or_insert(true);
                *succeeded &= value == "0";
            }
        }
        runs.push((status, stubs));
    }
    assert_eq!(runs.len(), masks as usize, "{program}: {text}");
    runs
}

/// E3: whatever is said to decide has decided, and whatever is said to explain a failure has failed.
#[test]
fn no_claim_about_an_exit_status_is_wrong() {
    let mut writer = Writer { dice: Dice(42), stubs: 0 };
    let (mut claims, mut possible) = (0, 0);
    for _ in 0..120 {
        let program = writer.program();
        let intents = Intents::read(&program);
        assert!(matches!(intents, Intents::Understood(_)), "{program}: {intents:?}");
        let runs = run(&program, 1 << writer.stubs.min(4));
        for (succeeded, stubs) in &runs {
            let ran_well = |name: &str| stubs.get(name) == Some(&true);
            let failed = |name: &str| stubs.get(name) == Some(&false);
            if *succeeded {
                for command in intents.proven_by_success().filter(|command| command.program.starts_with('p'))
                {
                    assert!(ran_well(&command.program), "{program}\n{} with {stubs:?}", command.program);
                }
            } else {
                match intents.explained_failure() {
                    Failed::Known(command) => {
                        assert!(failed(&command.program), "{program}\n{} with {stubs:?}", command.program);
                    }
                    Failed::OneOf(commands) => {
                        assert!(
                            commands.iter().any(|command| failed(&command.program)),
                            "{program}\n{stubs:?}"
                        );
                    }
                    Failed::Unknown => {}
                }
            }
        }
        // How much of what could be claimed is claimed: a command of which every success of the whole is a proof.
        for command in intents
            .commands()
            .iter()
            .filter(|command| ["p0", "p1", "p2", "p3"].contains(&command.program.as_str()))
        {
            let mut successes = runs.iter().filter(|(succeeded, _)| *succeeded).peekable();
            if successes.peek().is_some()
                && successes.all(|(_, stubs)| stubs.get(&command.program) == Some(&true))
            {
                possible += 1;
                claims += usize::from(command.attribution == Attribution::Decides);
            }
        }
    }
    assert!(claims * 10 >= possible * 7, "only {claims} of {possible} possible claims are made");
}
