//! The report's page as a browser shows it: what it draws is what the run was.

use sandbox::shown_by_browser;
use serde_json::Value;

use super::{Project, plan, stage};

/// Measures the page from inside. The page itself allows no script, so that this goes into a copy that does.
const MEASURE: &str = r##"<script>
const boxes = selector => [...document.querySelectorAll(selector)].map(element => {
  const box = element.getBoundingClientRect();
  return { left: box.left, right: box.right, top: box.top, bottom: box.bottom, text: element.querySelector("title")?.textContent ?? element.textContent, class: element.getAttribute("class") };
});
const rows = [...document.querySelectorAll("#stages tbody tr")].map(row => [row.cells[0].querySelector("code"), ...[...row.cells].slice(1)].map(cell => cell.innerText));
const artifacts = [...document.querySelectorAll("#artifacts tbody tr")].map(row => row.cells[1].innerText);
const facts = Object.fromEntries([...document.querySelectorAll(".facts div")].map(fact => fact.innerText.split("\n").filter(Boolean)));
const measured = document.createElement("script");
measured.type = "application/json";
measured.id = "measured";
measured.textContent = JSON.stringify({ chart: boxes("svg.gantt")[0], bars: boxes("svg.gantt rect.bar"), pauses: boxes("svg.gantt rect.pause"), names: boxes("svg.gantt text.name"), rows, artifacts, facts });
document.body.append(measured);
</script>"##;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn the_page_shows_in_a_browser_what_the_run_was() {
    let project = Project::new(&plan(&[
        stage(
            "S01_load_data",
            "command = 'echo \"<b>loaded</b>\"; sleep 0.2; echo 1 > $CHECKSTONE_ARTIFACT_DIR/one.txt'\noutputs = { one = \"one.txt\" }",
        ),
        stage(
            "S02_fail_once",
            "command = 'test -e go && echo 2 > $CHECKSTONE_ARTIFACT_DIR/two.txt'\ninputs = { one = \"S01_load_data/one.txt\" }",
        ),
        stage("S03_wait_behind", "command = 'true'\ndependencies = [\"S02_fail_once\"]"),
    ]));
    let measured = |project: &Project| {
        let told = project.workplace.json(&["report", "r1", "--json"], "report.schema.json");
        let page = project.read(told["html"].as_str().unwrap());
        let policy = page.split("<meta http-equiv=\"Content-Security-Policy\"").nth(1).unwrap();
        let policy =
            format!("<meta http-equiv=\"Content-Security-Policy\"{}>", policy.split_once('>').unwrap().0);
        let copy = page.replace(&policy, "").replace("</body>", &format!("{MEASURE}</body>"));
        let path = project.workplace.path("page.html");
        std::fs::write(&path, copy).unwrap();
        let dom = shown_by_browser(&path)?;
        let (_, rest) = dom.split_once("id=\"measured\">").unwrap_or_else(|| panic!("{dom}"));
        let measured: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
        Some((told, measured))
    };
    assert_eq!(project.run().code, Some(1));
    let Some((told, shown)) = measured(&project) else {
        println!("skipped: there is no browser here");
        return;
    };
    // One attempt each, and one stage that never began.
    assert_eq!((&told["stages"], &told["attempts"]), (&3.into(), &2.into()), "{told}");
    assert_eq!(shown["bars"].as_array().unwrap().len(), 2, "{shown:#}");
    assert_eq!(shown["rows"].as_array().unwrap().len(), 3, "{shown:#}");
    assert_eq!(shown["rows"][2][2], "blocked", "{shown:#}");

    project.workplace.write("go", "");
    assert_eq!(project.resume().code, Some(0));
    let (told, shown) = measured(&project).unwrap();
    let list = |name: &str| shown[name].as_array().unwrap();
    assert_eq!(Some(list("bars").len() as u64), told["attempts"].as_u64(), "{shown:#}");
    assert_eq!(Some(list("rows").len() as u64), told["attempts"].as_u64(), "{shown:#}");
    assert_eq!(Some(list("pauses").len() as u64), told["resumes"].as_u64(), "{shown:#}");
    assert_eq!(Some(list("names").len() as u64), told["stages"].as_u64(), "{shown:#}");
    let broken = list("rows").iter().filter(|row| row[2] != "completed").count();
    assert_eq!(Some(broken as u64), told["broken_off"].as_u64(), "{told} {shown:#}");
    assert_eq!(list("artifacts"), &["one.txt", "two.txt"]);
    let facts = &shown["facts"];
    for (name, expected) in
        [("state", "completed"), ("stages", "3 of 3"), ("attempts", "4"), ("resumed", "1")]
    {
        assert_eq!(facts[name], expected, "{facts}");
    }
    // Every bar can be seen, lies in the chart, below the name of its stage, and after the attempt before it.
    for (bar, row) in list("bars").iter().zip(list("rows")) {
        let title = format!(
            "{}, attempt {}: {} after",
            row[0].as_str().unwrap(),
            row[1].as_str().unwrap(),
            row[2].as_str().unwrap()
        );
        assert!(bar["text"].as_str().unwrap().starts_with(&title), "{bar} {row}");
        assert_eq!(bar["class"], format!("bar {}", row[2].as_str().unwrap()));
        assert!(number(&bar["right"]) - number(&bar["left"]) >= 1.0, "{bar}");
        let chart = &shown["chart"];
        assert!(
            number(&bar["left"]) >= number(&chart["left"])
                && number(&bar["right"]) <= number(&chart["right"]) + 1.0,
            "{bar} {chart}"
        );
        // The nearest name above a bar is that of its stage: its text is the goal, which names the stage.
        let above = list("names").iter().filter(|name| number(&name["top"]) < number(&bar["top"]));
        let name = above.max_by(|one, other| number(&one["top"]).total_cmp(&number(&other["top"]))).unwrap();
        assert!(number(&bar["top"]) - number(&name["bottom"]) < 8.0, "{name} {bar}");
    }
    for pair in list("bars").windows(2) {
        assert!(number(&pair[0]["left"]) < number(&pair[1]["right"]), "{pair:?}");
    }
}

/// At the width of a phone nothing but a table of data is wider than the screen, whatever its stages are called.
#[test]
fn the_page_fits_a_phone() {
    let project = Project::new(&plan(&[
        stage(
            "S01_load_a_very_long_name_of_data_that_goes_on",
            "command = 'seq -s, 1 40 > $CHECKSTONE_ARTIFACT_DIR/wide.csv; echo \"[METRIC:loss] 0.1<script>document.title = 1</script>\"'\noutputs = { wide = \"wide.csv\" }",
        ),
        stage("S02_fail_again", "command = 'false'"),
    ]));
    assert_eq!(project.run().code, Some(1));
    let told = project.workplace.json(&["report", "r1", "--json"], "report.schema.json");
    let page = project.read(told["html"].as_str().unwrap());
    let attribute = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        r#"<iframe style="width: 390px; height: 4000px; border: 0" srcdoc="{attribute}"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => {{
  const inside = frame.contentDocument;
  const wide = [...inside.querySelectorAll("body *")].filter(element => element.getBoundingClientRect().right > 391 && !element.closest(".scroll"));
  document.body.dataset.measured = JSON.stringify({{ width: inside.documentElement.scrollWidth, wide: wide.map(element => element.outerHTML), scripts: inside.scripts.length, title: inside.title }});
}};
</script>"#
    );
    let path = project.workplace.path("phone.html");
    std::fs::write(&path, format!("<!doctype html><body>{frame}</body>")).unwrap();
    let Some(dom) = shown_by_browser(&path) else {
        println!("skipped: there is no browser here");
        return;
    };
    let (_, rest) = dom.split_once("data-measured=\"").unwrap_or_else(|| panic!("{dom}"));
    let measured = rest.split_once('"').unwrap().0.replace("&quot;", "\"");
    assert_eq!(measured, r#"{"width":390,"wide":[],"scripts":0,"title":"study"}"#);
}
