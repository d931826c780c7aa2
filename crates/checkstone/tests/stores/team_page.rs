//! The team's page in a real browser, from a real database: what machines told is on it, and what they tell next.

use sandbox::{PageServer, wait_for};
use serde_json::json;

use crate::machine::{Machine, events};
use crate::servers::{connection, new_database, shared};

/// Somebody who looks and sends nothing.
fn look_at(address: &str) -> (Machine, PageServer) {
    let viewer = Machine::without_team();
    let server = PageServer::of(&mut viewer.command(&["serve", "--port", "0", "--database", address]));
    (viewer, server)
}

/// What is written in each of these elements, as a person reads it; when something was is left out.
fn texts(elements: &str) -> String {
    let text = "(one) => { const copy = one.cloneNode(true); copy.querySelectorAll('time').forEach((time) => time.remove());
        const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT), all = [];
        while (texts.nextNode()) all.push(texts.currentNode.data.trim());
        return all.filter((text) => text).join(' '); }";
    format!("Array.from(document.querySelectorAll('{elements}'), {text})")
}

fn sql(address: &str, statement: &str) {
    connection(address).run(|client| client.batch_execute(statement)).unwrap();
}

/// Two machines: one that sends texts was held two weeks ago, ran its tests then, and works now; one that sends facts is held.
fn team(address: &str) -> [Machine; 2] {
    let laptop = Machine::new(address, "name = \"Ada's laptop\"\ntexts = true");
    let build = Machine::new(address, "name = \"build server\"");
    laptop.turn("Fix the parser");
    laptop.test("Fix the parser");
    laptop.stop("Fix the parser");
    wait_for("the first machine has told", || events(address) == 3);
    sql(
        address,
        "update checkstone.team_events set at = date_trunc('week', now(), 'UTC') - interval '9 days'",
    );
    laptop.begin("Speed up the parser", "src/lib.rs");
    build.turn("Fix it");
    wait_for("both have told", || events(address) == 6);
    [laptop, build]
}

/// What each does next is on the page without being asked for.
#[test]
fn machines_are_seen_while_they_work() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let [laptop, build] = team(&address);
    let (_viewer, server) = look_at(&address);
    let Some(mut browser) = server.in_browser("/") else { return };
    browser.press("g");
    browser.press("t");
    browser.wait_for("location.pathname === '/team' && document.querySelectorAll('.card').length === 2");
    browser.wait_for("document.getElementById('live').dataset.state === 'on'");
    browser.shows(&texts(".counts li"), json!(["1 held", "1 working", "2 machines"]));
    let [held, working] = [
        "held Claude Code build server postgres feature/secret-plan · 1 file changed · missing-action",
        "working Claude Code Ada's laptop postgres Speed up the parser feature/secret-plan",
    ];
    browser.shows(&texts(".card"), json!([held, working]));
    browser.shows(&texts(".repository h2"), json!(["repo"]));
    browser.shows(&texts(".banner"), json!([]));
    let mut weeks = browser.value(&texts("tbody td"));
    for monday in [0, 7] {
        assert!(weeks[monday].take().as_str().is_some_and(|day| day.parse::<jiff::civil::Date>().is_ok()));
    }
    // Machines, stops, reported, held, of the holds proven later, of the changes proven.
    assert_eq!(
        weeks,
        json!([null, "1", "1", "0", "1", "0 %", "0 %", null, "1", "2", "0", "1", "100 %", "50 %"])
    );
    // The other one stops as well, after it has changed the same file.
    laptop.stop("Speed up the parser");
    browser.wait_for("document.querySelectorAll('.card.held').length === 2");
    let meeting = "Machines in the same files src/lib.rs in repo on feature/secret-plan was changed within four hours by Ada's laptop and build server";
    browser.shows(&texts(".banner"), json!([meeting]));
    build.test("Fix it");
    build.stop("Fix it");
    browser.wait_for("document.querySelectorAll('.card.done').length === 1");
    browser.shows(&texts(".counts li"), json!(["1 held", "1 done", "2 machines"]));
    browser.shows(&format!("{}[5]", texts("tbody tr:first-child td")), "50 %");
    // A clock that is far from the database's; the machine that has it sends again.
    sql(
        &address,
        "update checkstone.team_machines set clock_ahead = -300, sent_at = clock_timestamp() where name = 'build server'",
    );
    browser.wait_for("document.querySelectorAll('.banner').length === 2");
    let clock =
        "Clocks that differ build server: 5 min 0 s behind the database. Its times are corrected here.";
    browser.shows(&texts(".banner"), json!([clock, meeting]));
}

/// Nothing that a machine sends becomes markup, not even what only the database itself could have been told.
#[test]
fn hostile_texts_of_a_team_stay_texts() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let hostile = "<img src=x onerror=document.title=1>'\"&amp;";
    let laptop = Machine::new(&address, &format!("name = '''{hostile}'''\ntexts = true"));
    laptop.git(&["checkout", "--quiet", "-b", "<b>'\"&amp;"]);
    laptop.begin(&format!("{hostile}\u{202e}"), "src/<b>'\"&amp;.rs");
    laptop.stop(hostile);
    wait_for("it has told", || events(&address) == 2);
    sql(
        &address,
        &format!(
            "update checkstone.team_events set agent = '{0}', rules = array['{0}']",
            hostile.replace('\'', "''")
        ),
    );
    // A second machine of the same name and with the same texts, so that both meet.
    sql(
        &address,
        "insert into checkstone.team_machines (machine, name) select machine || 'x', name || 'x' from checkstone.team_machines;
         insert into checkstone.team_events (machine, session, sequence, at, turn, agent, repository, branch, verdict, waits, rules, changed, files, proofs, texts)
             select (select max(id) from checkstone.team_machines), session, sequence, at - interval '1 minute', turn, agent, repository, branch, verdict, waits, rules, changed, files, proofs, texts
             from checkstone.team_events",
    );
    let (_viewer, server) = look_at(&address);
    let Some(mut browser) = server.in_browser("/team") else { return };
    browser.wait_for("document.querySelectorAll('.card').length === 2");
    let card = format!(
        "held {hostile} {hostile} postgres {hostile}\u{fffd} <b>'\"&amp; · 1 file changed · {hostile}"
    );
    browser.shows(&texts(".card:first-child"), json!([card]));
    let meeting = "src/<b>'\"&amp;.rs in repo on <b>'\"&amp; was changed within four hours by";
    let meeting = format!("Machines in the same files {meeting} {hostile} and {hostile}x");
    browser.shows(&texts(".banner"), json!([meeting]));
    let foreign = "document.querySelectorAll('img, main b:not(.counts b):not(.banner b), main script, main style').length";
    assert_eq!(
        (browser.value(foreign), browser.value("document.title")),
        (json!(0), json!("Team · checkstone"))
    );
}

/// In the dark, on a phone, and as a plain page that is read again when it is opened again.
#[test]
fn the_page_of_a_team_is_read_everywhere() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let [laptop, _build] = team(&address);
    let (_viewer, server) = look_at(&address);
    let Some(mut browser) = server.in_browser("/team") else { return };
    for (scheme, is_dark) in [("dark", true), ("light", false)] {
        browser.prefer(scheme);
        browser.open(&server.address_of("/team"));
        browser.wait_for("document.querySelectorAll('.card').length === 2");
        let brightness = browser.brightness();
        assert_eq!(brightness.is_dark(), Some(is_dark), "{scheme}: {brightness:?}");
    }
    browser.resize(390, 800);
    browser.open(&server.address_of("/team"));
    browser.wait_for("document.querySelectorAll('.card').length === 2");
    browser.shows("document.documentElement.scrollWidth", 390);
    let lines = "Array.from(document.querySelectorAll('nav a'), (one) => { const range = document.createRange(); \
        range.selectNodeContents(one); return range.getClientRects().length; })";
    browser.shows(lines, json!([1, 1, 1, 1, 1]));
    browser.forbid_scripts();
    browser.open(&server.address_of("/team"));
    browser.shows(&texts("#live"), json!(["not live"]));
    browser.shows(&texts(".counts li"), json!(["1 held", "1 working", "2 machines"]));
    laptop.stop("Speed up the parser");
    wait_for("it has told", || events(&address) == 7);
    wait_for("the page that is opened again has it", || {
        browser.open(&server.address_of("/team"));
        browser.value(&texts(".counts li")) == json!(["2 held", "2 machines"])
    });
}

/// Each in a sentence, on the page, with what to do about it.
#[test]
fn a_database_that_shows_nothing_is_told_on_the_page() {
    let Some(_servers) = shared() else { return };
    let address = new_database();
    let viewer = Machine::without_team();
    let page_of = |address: &str| {
        PageServer::of(&mut viewer.command(&["serve", "--port", "0", "--database", address])).page("/team")
    };
    let told = |address: &str| {
        let page = page_of(address);
        let sentences = ["role=\"alert\"><h2>", "<p>To do: "].map(|mark| page.texts_behind(mark).join("\n"));
        let name = address.rsplit('/').next().unwrap();
        sentences.join("\n").replace(address, "ADDRESS").replace(name, "NAME")
    };
    let unused = page_of(&address).texts_behind("<section class=\"empty\"><p>");
    assert_eq!(unused, ["Nobody has sent anything to "]);
    let mut all = vec![told("postgres://ada@127.0.0.1:1/lab"), told(&format!("{address}_not"))];
    database::migrate(&mut connection(&address)).unwrap();
    let role = format!("eve_{}", files::random_id());
    sql(&address, &format!("create role {role} login"));
    all.push(told(&address.replacen("postgres@", &format!("{role}@"), 1)));
    sql(&address, "insert into checkstone.migrations (number, name, script) values (99, 'later', '')");
    all.push(told(&address));
    insta::assert_snapshot!(all.join("\n\n"));
}
