//! opencode's server, which the screen, editors and `opencode run --attach` talk to: it goes on when whoever asked has gone.

use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};

use sandbox::wait_for;
use scripted_model::Client;
use serde_json::json;

use crate::facts::{fix, look, run, say};
use crate::workplace::{self, RUN_TESTS};

/// A server that ends with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn opencode_serve_holds_although_whoever_asked_has_gone() {
    workplace::with(Client::Opencode, |workplace| {
        let steps = [look(), fix(), say("Fixed."), run("./run-tests"), say("Fixed and tested.")];
        let model = workplace.server(json!({"steps": steps}));
        let address = model.address();
        let client = workplace.installed(&address);
        client.settle().unwrap();
        workplace.init();
        let mut command = Command::new(workplace.program());
        client.environment(&mut command);
        command.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]);
        let serving =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
        let mut serving = Serving(serving);
        let mut lines = std::io::BufReader::new(serving.0.stdout.take().unwrap()).lines();
        let there =
            lines.find_map(|line| Some(line.unwrap().split_once("listening on ")?.1.trim().to_owned()));
        workplace.client_says(&["run", "--attach", &there.unwrap(), "--", "Fix add"], "");
        wait_for("the stop after the hold", || workplace.decisions() == ["hold", "pass"]);
        let played = workplace.played(&model);
        assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())], "{}", workplace.told(&model));
        workplace.verdicts();
    });
}
