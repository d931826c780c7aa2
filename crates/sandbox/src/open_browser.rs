//! A browser that stays open: a test looks at its page, clicks and types in it, and waits for what it shows. It is told by
//! the DevTools protocol, over two pipes that have names.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::browser::browser;
use crate::waiting::{receive, wait_for, wait_for_equal};
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
    /// `None` if the machine has no browser.
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
        self.answer(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    #[track_caller]
    fn answer(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": parameters});
        if let Some(tab) = &self.tab {
            message["sessionId"] = json!(tab);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = receive(method, &self.messages);
            if answer["id"] == self.asked {
                return match answer.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(answer["result"].take()),
                };
            }
        }
    }

    /// What an expression is at this instant. While one page follows another there is nothing to ask, and nothing is answered.
    #[track_caller]
    fn glance(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        let mut answer = self.answer("Runtime.evaluate", asked).unwrap_or_default();
        answer["result"]["value"].take()
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
        wait_for(expression, || self.glance(expression) == true);
    }

    /// Clicks on an element as soon as it is there; after the answer, which the next page would swallow.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let element = format!("document.querySelector({})", json!(selector));
        self.wait_for(&format!("{element} !== null && (setTimeout(() => {element}?.click()), true)"));
    }

    /// Waits until an expression has a value: what a live page shows comes when it comes.
    #[track_caller]
    pub fn shows(&mut self, expression: &str, expected: impl Into<Value>) {
        wait_for_equal(expression, &expected.into(), || self.glance(expression));
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

    /// Shows pages as a person does who prefers it so: `dark` or `light`.
    #[track_caller]
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.ask("Emulation.setEmulatedMedia", features);
    }

    /// How bright the page is, and what is written on it.
    #[track_caller]
    pub fn brightness(&mut self) -> Brightness {
        let values = self.value(BRIGHTNESS);
        let [paper, ink] = [0, 1].map(|place| values[place].as_f64().unwrap());
        Brightness { paper, ink }
    }

    /// From now on pages have no script; expressions are still answered.
    #[track_caller]
    pub fn forbid_scripts(&mut self) {
        self.ask("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    }
}

/// From 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brightness {
    pub paper: f64,
    pub ink: f64,
}

impl Brightness {
    /// Whether light text is on dark paper, or the other way round; `None` if one can hardly be told from the other.
    pub fn is_dark(self) -> Option<bool> {
        let is_readable = (self.paper - self.ink).abs() > 0.6;
        is_readable.then_some(self.paper < 0.2)
    }
}

const BRIGHTNESS: &str = "(() => {
    const bright = (colour) => {
        const [r, g, b] = colour.match(/[0-9.]+/g).map(Number);
        return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
    };
    const style = getComputedStyle(document.body);
    return [bright(style.backgroundColor), bright(style.color)];
})()";

impl Drop for OpenBrowser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
