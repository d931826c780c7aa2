//! A browser that stays open: a test looks at its page, clicks and types in it, and waits for what it shows. It is told by
//! the DevTools protocol, over two pipes that have names.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::browser::browser;
use crate::waiting::{receive, wait_for};
use crate::{RunToEnd as _, Sandbox};

#[derive(Debug)]
pub struct OpenBrowser {
    child: Child,
    input: File,
    messages: Receiver<Value>,
    asked: u64,
    tab: Option<String>,
    _sandbox: Sandbox,
}

impl OpenBrowser {
    /// `None` where the machine has no browser.
    pub fn start() -> Option<Self> {
        let browser = browser()?;
        let sandbox = Sandbox::new();
        let (to, from) = (sandbox.path("to"), sandbox.path("from"));
        assert!(Command::new("mkfifo").args([&to, &from]).answer().succeeded());
        let mut command = sandbox.prepared(Command::new("sh"));
        command.args(["-c", "exec \"$0\" \"$@\" 3<\"$TO\" 4>\"$FROM\"", browser]);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--remote-debugging-pipe", "--hide-scrollbars", "about:blank"]);
        command.arg(format!("--user-data-dir={}", sandbox.path("browser").display()));
        command.env("TO", &to).env("FROM", &from).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let input = File::options().write(true).open(&to).unwrap();
        let output = BufReader::new(File::open(&from).unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        Some(Self { child, input, messages, asked: 0, tab: None, _sandbox: sandbox })
    }

    /// Asks the browser for something, and returns its answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": parameters});
        if let Some(tab) = &self.tab {
            message["sessionId"] = json!(tab);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = receive(method, &self.messages);
            if answer["id"] == self.asked {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Opens a page in a tab of its own, and waits until it is there.
    #[track_caller]
    pub fn open(&mut self, address: &str) {
        if self.tab.is_none() {
            let target = self.ask("Target.createTarget", json!({"url": "about:blank"}));
            let attached =
                self.ask("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
            self.tab = attached["sessionId"].as_str().map(str::to_owned);
        }
        self.ask("Page.navigate", json!({"url": address}));
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// What an expression of JavaScript is.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.ask("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait_for(&mut self, expression: &str) {
        wait_for(expression, || {
            let asked = json!({"expression": expression, "returnByValue": true});
            // While one page follows another there is nothing to ask.
            self.ask("Runtime.evaluate", asked)["result"]["value"] == true
        });
    }

    /// Presses a key, as a person does.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        let text = if key.len() == 1 { key } else { "\r" };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key});
            if kind == "keyDown" {
                event["text"] = json!(text);
            }
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Makes the page as large as a screen.
    #[track_caller]
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.ask("Emulation.setDeviceMetricsOverride", size);
    }
}

impl Drop for OpenBrowser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
