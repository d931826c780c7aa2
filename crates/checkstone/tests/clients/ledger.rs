//! L1–L4 at a person's screen: what was interrupted, ignored and committed is not forgotten, and the agent does not hold the
//! switch. One session in each client.

use scripted_model::Client;
use serde_json::{Value, json};

use crate::facts::{fix, look, run, say};
use crate::workplace::{RUN_TESTS, Shown, Workplace};

/// A run of it would say something about the code, so that the ledger is about it.
const POLICY: &str = r#"
[[category]]
name = "code"
include = ["src/**"]
require = ["tests"]

[action.tests]
say = "Run `pytest`"
evidence = ["pytest"]
"#;

const UNPROVEN: &str =
    "[checkstone] Unproven: `src/calc.py` needs `tests`. The agent was asked for this and did not do it.";
const COMMITTED: &str = "[checkstone] This turn committed unproven work: `src/calc.py` needs `tests`.";
const LOOSENED: &str = "The policy changed in this turn: `action.tests.evidence`, `action.tests.say`, `category`, `presets` in \
                        `checkstone.toml`. The change takes effect at the next prompt; this turn is judged by the \
                        policy at its prompt.";

/// What the client shows when the person has interrupted the agent.
fn interrupted(client: Client) -> &'static str {
    match client {
        Client::Claude => "Interrupted",
        Client::Gemini => "Request cancelled.",
        _ => "Conversation interrupted",
    }
}

/// Held for these files.
fn held_for(files: &str) -> String {
    RUN_TESTS.replace("./run-tests", "pytest").replace("code (`src/calc.py`)", files)
}

/// Who is asked outside of the client: how many files are unproven.
fn unproven(workplace: &Workplace, shown: &Shown<'_>) -> usize {
    let status = workplace.json(&["status", "--json"]);
    let files = status["unproven"].as_array().unwrap().len();
    if workplace.client == Client::Claude {
        shown.wait_for(&format!("unproven: {files} file"));
    }
    files
}

/// Waits for the end of a turn, by what the person reads.
fn told(workplace: &Workplace, shown: &Shown<'_>, text: &str) {
    shown.wait_for(text);
    assert_eq!(workplace.decisions().last().unwrap(), "notify");
}

/// By the log and by `status`, newest first.
fn reductions(workplace: &Workplace) -> Vec<Value> {
    let status = workplace.json(&["status", "--json"]);
    status["reductions"].as_array().unwrap().iter().map(|one| one["text"].clone()).collect()
}

pub(crate) fn l1_l2_l3_l4_nothing_slips_through(workplace: &Workplace) {
    workplace.write("checkstone.toml", POLICY);
    workplace.git(&["commit", "--quiet", "--all", "--message=policy"]);
    let begun = workplace.home.join("tmp/begun");
    // It ends with the repository, whatever the client does to it.
    let waits = format!("touch {} && while [ -e src/calc.py ]; do sleep 0.1; done", begun.display());
    let more = json!({"calls": [{"write": {"path": "src/more.py", "content": "ONE = 1\n"}}]});
    let off = format!("{} session --off", env!("CARGO_BIN_EXE_checkstone"));
    let steps = [
        look(),
        fix(),
        run(&waits),
        say("Done."),
        say("I am done, really."),
        run("git commit --quiet --all --message=Fix"),
        say("Committed."),
        more,
        run("echo 'presets = []' > checkstone.toml"),
        run(&off),
        say("Added."),
        say("It is all done."),
    ];
    let shown = workplace.show(json!({ "steps": steps }), || workplace.init_with_status_line());

    // L1: no stop was judged, and no test ran.
    shown.say("Fix add");
    shown.wait_until(|| begun.exists());
    shown.screen.press("Escape").unwrap();
    shown.wait_for(interrupted(workplace.client));
    assert_eq!(workplace.decisions(), [""; 0]);
    shown.say("go on");

    // L2: held, and ignored.
    told(workplace, &shown, UNPROVEN);
    assert_eq!(shown.played().holds(), [(4, held_for("code (`src/calc.py`)"))]);
    assert_eq!(unproven(workplace, &shown), 1);

    // L3: the next turn commits it.
    shown.say("commit it");
    told(workplace, &shown, COMMITTED);
    assert_eq!(unproven(workplace, &shown), 1);
    assert_eq!(workplace.git(&["status", "--porcelain"]), "");

    // L4: judged by the policy at the prompt.
    shown.say("add one");
    told(workplace, &shown, &UNPROVEN.replace("calc.py", "more.py"));
    let agent = workplace.client.agent();
    let refused =
        format!("The agent tried to run `checkstone session --off --agent {agent}`, which was refused.");
    shown.wait_for(LOOSENED);
    shown.wait_for(&refused);
    assert_eq!(
        shown.played().holds()[1..],
        [(11, held_for("other files (`checkstone.toml`), code (`src/more.py`)"))]
    );
    assert_eq!(reductions(workplace), [LOOSENED, &refused]);
    assert_eq!(unproven(workplace, &shown), 2);
    assert_eq!(workplace.decisions(), ["hold", "notify", "notify", "switch", "switch", "hold", "notify"]);
}
