//! Commands and what they would run. Each command of the right side is written as
//! `decides|<mask>: program arguments [@directory] [hidden|filtered] [>edits] [<reads]`; what the shell would
//! have to expand stands in `‹›`, and `>*` are edits of files that the command line does not name.

use programs::shell::{Attribution, Directory, Failed, Intents, Mask, Output, SimpleCommand, Word};

fn render(command: &SimpleCommand) -> String {
    let mut text = match command.attribution {
        Attribution::Decides => "decides".to_owned(),
        Attribution::Masked(mask) => format!("{mask:?}").to_lowercase(),
    };
    text.push_str(": ");
    text.push_str(&command.program);
    for argument in &command.arguments {
        text.push(' ');
        match argument {
            Word::Known(known) if known.is_empty() || known.contains([' ', '\n', '\t']) => {
                text.push_str(&format!("{known:?}"));
            }
            Word::Known(known) => text.push_str(known),
            Word::Unexpanded { unexpanded } => text.push_str(&format!("‹{unexpanded}›")),
        }
    }
    match &command.directory {
        Directory::Start => {}
        Directory::At(path) => text.push_str(&format!(" @{path}")),
        Directory::Unknown => text.push_str(" @?"),
    }
    match command.output {
        Output::Shown => {}
        Output::Filtered => text.push_str(" filtered"),
        Output::Hidden => text.push_str(" hidden"),
    }
    if !command.edits.is_nothing() {
        let others = if command.edits.others { Some("*") } else { None };
        let paths: Vec<&str> = command.edits.paths.iter().map(String::as_str).chain(others).collect();
        text.push_str(&format!(" >{}", paths.join(",")));
    }
    if !command.reads.is_empty() {
        text.push_str(&format!(" <{}", command.reads.join(",")));
    }
    text
}

/// Checks every row and reports all that differ.
#[track_caller]
fn check(table: &[(&str, &[&str])]) {
    let mut wrong = String::new();
    for (command, expected) in table {
        let found = match Intents::read(command) {
            Intents::Understood(commands) => commands.iter().map(render).collect(),
            Intents::NotUnderstood(reason) => vec![format!("not understood: {reason}")],
        };
        if found != *expected {
            wrong.push_str(&format!("\n  {command}\n    expected {expected:#?}\n    found    {found:#?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn plain_commands() {
    check(&[
        ("", &[]),
        ("   \n\n", &[]),
        ("# only a comment: make restart", &[]),
        ("cargo test", &["decides: cargo test"]),
        ("cargo test  # make restart", &["decides: cargo test"]),
        ("# run the tests\npytest -q  # all", &["decides: pytest -q"]),
        ("/usr/bin/make restart", &["decides: make restart"]),
        ("./gradlew test", &["decides: gradlew test"]),
        (".venv/bin/pytest -q", &["decides: pytest -q"]),
        ("\"$VENV/bin/pytest\" -q", &["decides: pytest -q"]),
        ("$RUNNER test", &["decides: $RUNNER test"]),
        ("pytest tests/test_a.py::test_b", &["decides: pytest tests/test_a.py::test_b"]),
        ("pytest \"$FILE\"", &["decides: pytest ‹$FILE›"]),
        ("pytest tests/*.py", &["decides: pytest ‹tests/*.py›"]),
        ("pytest -k 'a and b'", &["decides: pytest -k \"a and b\""]),
        ("p\\ytest 'te'\"sts\"", &["decides: pytest tests"]),
        ("cargo \\\n  test \\\n  --lib", &["decides: cargo test --lib"]),
        (
            "echo \"über 日本語 🎉\" && cargo test",
            &["decides: echo \"über 日本語 🎉\"", "decides: cargo test"],
        ),
        ("cd x\r\nmake test\r\n", &["followed: cd x", "decides: make test @x"]),
        ("printf $'a\\n\\tb'", &["decides: printf \"a\\n\\tb\""]),
    ]);
}

/// E2: a mention is no execution.
#[test]
fn mentions_run_nothing() {
    check(&[
        ("echo \"make restart\"", &["decides: echo \"make restart\""]),
        ("echo make restart", &["decides: echo make restart"]),
        ("grep pytest Makefile", &["decides: grep pytest Makefile <Makefile"]),
        ("rg -n 'make restart' docs/x.md", &["decides: rg -n \"make restart\" docs/x.md <docs/x.md"]),
        ("git commit -m 'make restart'", &["decides: git commit -m \"make restart\""]),
        (
            "git commit -m \"run pytest && make test\"",
            &["decides: git commit -m \"run pytest && make test\""],
        ),
        ("cat > a.py <<'EOF'\nmake restart\nEOF", &["decides: cat hidden >a.py"]),
        ("cat > a.py <<EOF\nmake restart\npytest\nEOF\n", &["decides: cat hidden >a.py"]),
        ("cat <<-EOF\n\tpytest\n\tEOF\n", &["decides: cat"]),
        ("cat <<A <<B\npytest\nA\nmake test\nB\n", &["decides: cat"]),
        ("cat << \t EOF\npytest\nEOF\nls", &["followed: cat", "decides: ls"]),
        ("cat <<\"E F\"\npytest\nE F\nls", &["followed: cat", "decides: ls"]),
        ("cat <<\\EOF\npytest\nEOF\nls", &["followed: cat", "decides: ls"]),
        ("cat <<EOF; ls\npytest\nEOF", &["followed: cat", "decides: ls"]),
        ("(cat <<EOF)\npytest\nEOF", &["decides: cat"]),
        ("cat <<EOF|tail\npytest\nEOF", &["piped: cat filtered", "decides: tail"]),
        ("cat <<<pytest && ls", &["decides: cat", "decides: ls"]),
        ("echo $((1<<2))\nls", &["followed: echo ‹$((1<<2))›", "decides: ls"]),
        ("((x=1<<2))\nls", &["decides: ls"]),
        ("echo $(((1<<2)+(3<<4)))\nls", &["followed: echo ‹$(((1<<2)+(3<<4)))›", "decides: ls"]),
        ("echo ${#x} # pytest\nls", &["followed: echo ‹${#x}›", "decides: ls"]),
        (
            "echo a#b 'a longer text than sixteen' # 'pytest\nls",
            &["followed: echo a#b \"a longer text than sixteen\"", "decides: ls"],
        ),
        (
            "cat <<EOF > f && make restart\nhello pytest\nEOF",
            &["decides: cat hidden >f", "decides: make restart"],
        ),
        (
            "python3 - <<'PY' | tee out.txt\nimport os\nos.system('make restart')\nPY",
            &[
                "piped: python - \"import os\\nos.system('make restart')\\n\" filtered",
                "decides: tee out.txt >out.txt",
            ],
        ),
        (
            "git commit -m \"$(cat <<'EOF'\nfix: don't run `make test`\n\nEOF\n)\" && git push",
            &[
                "substitution: cat hidden",
                "decides: git commit -m ‹$(cat <<'EOF'\nfix: don't run `make test`\n\nEOF\n)›",
                "decides: git push",
            ],
        ),
        ("command -v pytest", &["decides: command -v pytest"]),
        ("which pytest && type cargo", &["decides: which pytest", "decides: type cargo"]),
        ("man make", &["decides: man make"]),
        ("alias t='make test'", &["decides: alias \"t=make test\""]),
        ("tmux send-keys 'pytest' Enter", &["decides: tmux send-keys pytest Enter"]),
        ("ssh host 'make restart'", &["decides: ssh host \"make restart\""]),
        (
            "python3 -c \"import os; os.system('pytest')\"",
            &["decides: python -c \"import os; os.system('pytest')\""],
        ),
        ("bash -n script.sh", &["decides: bash -n script.sh"]),
        ("f() { pytest; }", &[]),
    ]);
}

#[test]
fn chains_decide() {
    check(&[
        ("cd x && pytest", &["decides: cd x", "decides: pytest @x"]),
        ("cd x && FOO=1 make restart", &["decides: cd x", "decides: make restart @x"]),
        ("pytest && echo ok", &["decides: pytest", "decides: echo ok"]),
        ("make restart && make status", &["decides: make restart", "decides: make status"]),
        ("make a &&\n  make b", &["decides: make a", "decides: make b"]),
        ("(cd sub && make test)", &["decides: cd sub", "decides: make test @sub"]),
        ("(cd sub && make a) && make b", &["decides: cd sub", "decides: make a @sub", "decides: make b"]),
        ("{ make a && make b; }", &["decides: make a", "decides: make b"]),
        ("time make test", &["decides: make test"]),
        ("[ -f Cargo.toml ] && cargo test", &["decides: [ -f Cargo.toml ]", "decides: cargo test"]),
        ("[[ -f Cargo.toml && $x =~ ^[a-z]+$ ]] && cargo build", &["decides: cargo build"]),
        ("out=$(pytest) && echo ok", &["decides: pytest hidden", "decides: echo ok"]),
        ("out=$(pytest 2>&1)", &["decides: pytest hidden"]),
        ("cd a && cd b && make", &["decides: cd a", "decides: cd b @a", "decides: make @a/b"]),
        ("cd a/../b && make", &["decides: cd a/../b", "decides: make @b"]),
        ("cd sub && cd .. && make", &["decides: cd sub", "decides: cd .. @sub", "decides: make"]),
        ("cd /srv/app && make", &["decides: cd /srv/app", "decides: make @/srv/app"]),
        ("cd \"$DIR\" && make", &["decides: cd ‹$DIR›", "decides: make @?"]),
        ("cd - && make", &["decides: cd -", "decides: make @?"]),
        ("cd ~/x && make", &["decides: cd ‹~/x›", "decides: make @?"]),
        (
            "pushd web && npm test && popd",
            &["decides: pushd web", "decides: npm test @web", "decides: popd @web"],
        ),
    ]);
}

/// E3: the exit status of the whole says nothing about these.
#[test]
fn masked_statuses() {
    check(&[
        ("pytest -q || true", &["orelse: pytest -q", "conditional: true"]),
        ("pytest || echo failed", &["orelse: pytest", "conditional: echo failed"]),
        ("pytest && echo ok || echo bad", &["orelse: pytest", "orelse: echo ok", "conditional: echo bad"]),
        ("make x || pytest", &["orelse: make x", "conditional: pytest"]),
        ("pytest -q 2>&1 | tail -20", &["piped: pytest -q filtered", "decides: tail -20"]),
        ("pytest |& tee log", &["piped: pytest filtered", "decides: tee log >log"]),
        (
            "pytest | tee log | tail -3",
            &["piped: pytest filtered", "piped: tee log filtered >log", "decides: tail -3"],
        ),
        ("pytest | wc -l", &["piped: pytest hidden", "decides: wc -l"]),
        ("pytest | grep -c passed > /dev/null", &["piped: pytest hidden", "decides: grep -c passed hidden"]),
        ("pytest; echo ok", &["followed: pytest", "decides: echo ok"]),
        ("pytest\necho ok", &["followed: pytest", "decides: echo ok"]),
        ("pytest;", &["decides: pytest"]),
        ("pytest &", &["background: pytest"]),
        (
            "npm run dev & sleep 1; npm test",
            &["background: npm run dev", "followed: sleep 1", "decides: npm test"],
        ),
        ("make a && make b & wait", &["background: make a", "background: make b", "decides: wait"]),
        ("! pytest", &["negated: pytest"]),
        ("! grep -q foo bar && pytest", &["negated: grep -q foo bar <bar", "decides: pytest"]),
        ("if pytest; then echo ok; fi", &["condition: pytest", "conditional: echo ok"]),
        ("if true; then pytest; fi", &["condition: true", "conditional: pytest"]),
        ("while pytest; do sleep 1; done", &["condition: pytest", "loop: sleep 1"]),
        ("for t in a b; do pytest $t; done", &["loop: pytest ‹$t›"]),
        ("echo \"$(pytest)\"", &["substitution: pytest filtered", "decides: echo ‹$(pytest)›"]),
        ("echo `pytest`", &["substitution: pytest filtered", "decides: echo ‹`pytest`›"]),
        ("export X=$(pytest)", &["substitution: pytest hidden", "decides: export ‹X=$(pytest)›"]),
        (
            "diff <(pytest) <(cat a.txt)",
            &[
                "substitution: pytest hidden",
                "substitution: cat a.txt hidden <a.txt",
                "decides: diff ‹<(pytest)› ‹<(cat a.txt)›",
            ],
        ),
        ("case $1 in a|b) pytest;; *) make x;; esac", &["conditional: pytest", "conditional: make x"]),
        ("pytest || exit 0", &["orelse: pytest", "conditional: exit 0"]),
        ("exit 0; pytest", &["decides: exit 0", "conditional: pytest"]),
        ("pytest; exit 0", &["followed: pytest", "decides: exit 0"]),
        ("(pytest; true)", &["followed: pytest", "decides: true"]),
        ("{ pytest; echo; } && make x", &["followed: pytest", "decides: echo", "decides: make x"]),
        (
            "trap 'exit 0' ERR; set -e; pytest; echo",
            &["trap: trap \"exit 0\" ERR", "trap: set -e", "trap: pytest", "trap: echo"],
        ),
        ("setsid pytest", &["background: pytest"]),
        ("coproc pytest", &["background: pytest"]),
        ("cd x; pytest", &["followed: cd x", "decides: pytest @x"]),
        (
            "for i in 1 2 3; do make test && break; sleep 1; done",
            &["followed: make test", "followed: break", "loop: sleep 1"],
        ),
    ]);
}

#[test]
fn statuses_that_survive() {
    check(&[
        ("set -e; pytest; echo ok", &["followed: set -e", "decides: pytest", "decides: echo ok"]),
        (
            "set -euo pipefail\npytest | tail\necho ok",
            &["followed: set -euo pipefail", "decides: pytest filtered", "decides: tail", "decides: echo ok"],
        ),
        (
            "set -o pipefail; pytest | tail -5",
            &["followed: set -o pipefail", "decides: pytest filtered", "decides: tail -5"],
        ),
        (
            "set -o pipefail && pytest | tail -5",
            &["decides: set -o pipefail", "decides: pytest filtered", "decides: tail -5"],
        ),
        (
            "set -e; set +e; pytest; echo",
            &["followed: set -e", "decides: set +e", "followed: pytest", "decides: echo"],
        ),
        (
            "set -e; pytest || true; echo",
            &["followed: set -e", "orelse: pytest", "conditional: true", "decides: echo"],
        ),
        // `set -e` leaves a failing `cd` alone here, and then pytest never ran.
        (
            "set -e; cd x && pytest; echo",
            &["followed: set -e", "followed: cd x", "followed: pytest @x", "decides: echo @x"],
        ),
        ("set -e; if pytest; then echo; fi", &["followed: set -e", "condition: pytest", "conditional: echo"]),
        (
            "set -e; (pytest; make x); echo",
            &["followed: set -e", "decides: pytest", "decides: make x", "decides: echo"],
        ),
        ("(set -e; pytest; make x)", &["followed: set -e", "decides: pytest", "decides: make x"]),
        ("(set -e; pytest); echo", &["followed: set -e", "followed: pytest", "decides: echo"]),
        ("pytest || exit 1", &["decides: pytest", "conditional: exit 1"]),
        ("pytest || exit 1; echo ok", &["decides: pytest", "conditional: exit 1", "decides: echo ok"]),
        (
            "pytest || { echo bad; exit 1; }; echo ok",
            &["decides: pytest", "followed: echo bad", "conditional: exit 1", "decides: echo ok"],
        ),
        ("pytest || (echo bad; exit 1)", &["decides: pytest", "followed: echo bad", "conditional: exit 1"]),
        ("pytest || false", &["decides: pytest", "conditional: false"]),
        (
            "if make test; then echo ok; else echo bad; exit 1; fi",
            &["decides: make test", "decides: echo ok", "followed: echo bad", "conditional: exit 1"],
        ),
        ("pytest; exit $?", &["decides: pytest", "decides: exit ‹$?›"]),
        (
            "pytest; rc=$?; echo done; exit $rc",
            &["decides: pytest", "followed: echo done", "decides: exit ‹$rc›"],
        ),
        (
            "pytest | tee log; exit ${PIPESTATUS[0]}",
            &["decides: pytest filtered", "followed: tee log >log", "decides: exit ‹${PIPESTATUS[0]}›"],
        ),
        ("pytest; rc=$?; rc=0; exit $rc", &["followed: pytest", "decides: exit ‹$rc›"]),
        (
            "for f in *.py; do python -m py_compile \"$f\" || exit 1; done",
            &["decides: py_compile ‹$f›", "loop: exit 1"],
        ),
        ("for f in $FILES; do pytest \"$f\" || exit 1; done", &["loop: pytest ‹$f›", "loop: exit 1"]),
        (
            "until curl -sf localhost:80; do sleep 1; done",
            &["decides: curl -sf localhost:80", "loop: sleep 1"],
        ),
        (
            "until curl -sf localhost:80; do sleep 1; done; pytest",
            &["decides: curl -sf localhost:80", "loop: sleep 1", "decides: pytest"],
        ),
        ("run() { cargo test \"$@\"; }; run --lib", &["decides: cargo test --lib"]),
        ("t() { pytest; echo; }; t", &["followed: pytest", "decides: echo"]),
        // However often a function is called one after the other, it is not called deeper.
        ("t() { pytest; }; t && t && t && t && t && t", &["decides: pytest"; 6]),
        ("bash -c a && bash -c a && bash -c a && bash -c a && bash -c a", &["decides: a"; 5]),
        (
            "t() { pytest || return 1; echo; }; t",
            &["function: pytest", "function: return 1", "function: echo"],
        ),
    ]);
}

/// E6: the program behind its wrappers.
#[test]
fn wrappers() {
    check(&[
        ("FOO=1 BAR=2 pytest", &["decides: pytest"]),
        ("time pytest", &["decides: pytest"]),
        ("/usr/bin/time -v pytest -q", &["decides: pytest -q"]),
        (
            "timeout 60 cargo test --workspace -- --nocapture",
            &["decides: cargo test --workspace -- --nocapture"],
        ),
        ("timeout -k 5 --signal INT 10m make restart", &["decides: make restart"]),
        ("timeout --preserve-status 60s pytest", &["decides: pytest"]),
        ("nice -n 10 make test", &["decides: make test"]),
        ("nice ionice -c 3 make test", &["decides: make test"]),
        ("sudo make restart", &["decides: make restart"]),
        ("sudo -u postgres psql -c 'select 1;'", &["decides: psql -c \"select 1;\""]),
        ("sudo -E FOO=1 make restart", &["decides: make restart"]),
        ("env -i PATH=$PATH RUST_BACKTRACE=1 cargo test -p x", &["decides: cargo test -p x"]),
        ("env -u FOO pytest", &["decides: pytest"]),
        ("command pytest", &["decides: pytest"]),
        ("exec pytest", &["decides: pytest"]),
        ("nohup make test", &["decides: make test"]),
        ("stdbuf -oL pytest", &["decides: pytest"]),
        ("stdbuf -o L pytest", &["decides: pytest"]),
        ("flock /tmp/lock make test", &["decides: make test"]),
        ("bash -lc 'make restart && make status'", &["decides: make restart", "decides: make status"]),
        (
            "bash -lc \"cd /tmp && echo \\\"hi\\\" && pytest\"",
            &["decides: cd /tmp", "decides: echo hi @/tmp", "decides: pytest @/tmp"],
        ),
        ("bash -c 'pytest; echo'", &["followed: pytest", "decides: echo"]),
        ("bash -ec 'pytest; echo'", &["decides: pytest", "decides: echo"]),
        (
            "bash -euo pipefail -c 'pytest | tail; echo'",
            &["decides: pytest filtered", "decides: tail", "decides: echo"],
        ),
        ("sh -c 'pytest' || true", &["orelse: pytest", "conditional: true"]),
        ("bash -c \"bash -c 'pytest'\"", &["decides: pytest"]),
        (
            "bash -c 'cd sub && pytest' && make x",
            &["decides: cd sub", "decides: pytest @sub", "decides: make x"],
        ),
        ("bash scripts/test.sh --fast", &["decides: test.sh --fast"]),
        ("bash -x scripts/test.sh", &["decides: test.sh"]),
        ("bash -c \"echo 'unterminated\"", &["decides: bash -c \"echo 'unterminated\""]),
        ("bash <<'EOF'\npytest\nmake restart\nEOF", &["followed: pytest", "decides: make restart"]),
        ("bash -e <<'EOF'\npytest\nmake restart\nEOF", &["decides: pytest", "decides: make restart"]),
        ("eval 'make test'", &["decides: make test"]),
        ("uv run pytest tests/unit -x -q", &["decides: pytest tests/unit -x -q"]),
        ("uv run --with pytest-xdist --python 3.12 pytest", &["decides: pytest"]),
        ("uv run -m pytest", &["decides: pytest"]),
        ("uv run python -m pytest -q", &["decides: pytest -q"]),
        ("uv --directory web run pytest", &["decides: pytest @web"]),
        ("uvx ruff check", &["decides: ruff check"]),
        ("uv pip install -e .", &["decides: pip install -e ."]),
        ("uv sync", &["decides: uv sync"]),
        ("poetry run pytest", &["decides: pytest"]),
        ("pipenv run python -m pytest", &["decides: pytest"]),
        ("hatch run pytest", &["decides: pytest"]),
        ("pdm run pytest", &["decides: pytest"]),
        ("conda run -n env pytest", &["decides: pytest"]),
        ("python -m pytest -q", &["decides: pytest -q"]),
        ("python3.12 -u -m pytest", &["decides: pytest"]),
        ("python -X dev -m unittest discover", &["decides: unittest discover"]),
        ("python3 manage.py test", &["decides: python manage.py test"]),
        ("coverage run -m pytest", &["decides: pytest"]),
        ("coverage run --source=x -m pytest -q", &["decides: pytest -q"]),
        ("coverage report", &["decides: coverage report"]),
        ("npx jest --ci", &["decides: jest --ci"]),
        ("npx -y vitest run", &["decides: vitest run"]),
        ("npx --yes -p typescript tsc", &["decides: tsc"]),
        ("npm exec -- jest", &["decides: jest"]),
        ("pnpm exec vitest run", &["decides: vitest run"]),
        ("pnpm dlx jest", &["decides: jest"]),
        ("pnpm vitest run", &["decides: vitest run"]),
        ("pnpm --filter web test", &["decides: pnpm --filter web test"]),
        ("yarn jest src/a.test.ts", &["decides: jest src/a.test.ts"]),
        ("yarn test", &["decides: yarn test"]),
        ("bunx vitest", &["decides: vitest"]),
        ("bun test", &["decides: bun test"]),
        ("bundle exec rspec", &["decides: rspec"]),
        ("docker exec -it web pytest -q", &["decides: pytest -q"]),
        ("docker exec -e A=1 web sh -c 'pytest -q'", &["decides: pytest -q"]),
        ("docker compose exec -T web make test", &["decides: make test"]),
        ("docker compose -f x.yml run --rm web pytest", &["decides: pytest"]),
        ("docker run --rm -v $(pwd):/w img make test", &["substitution: pwd hidden", "decides: make test"]),
        ("docker exec -d web pytest", &["decides: docker exec -d web pytest"]),
        ("docker compose up -d", &["decides: docker compose up -d"]),
        ("nix develop -c cargo test", &["decides: cargo test"]),
        (
            "git ls-files '*.py' | xargs -0 -n1 python -m pyflakes",
            &["piped: git ls-files *.py hidden", "decides: pyflakes ‹›"],
        ),
        ("ls tests | xargs -r pytest", &["piped: ls tests hidden", "conditional: pytest ‹›"]),
        (
            "find . -name '*.rs' -exec grep -l foo {} \\;",
            &["decides: find . -name *.rs -exec grep -l foo {} ;", "loop: grep -l foo ‹{}›"],
        ),
        ("sudo timeout 60 env A=b nice uv run python -m pytest", &["decides: pytest"]),
        ("sudo", &["decides: sudo"]),
        ("timeout 60", &["decides: timeout 60"]),
        ("just test", &["decides: just test"]),
        ("make -j4 restart", &["decides: make -j4 restart"]),
    ]);
}

/// E12: edits made through the shell.
#[test]
fn edits() {
    check(&[
        ("echo x > a.txt", &["decides: echo x hidden >a.txt"]),
        ("echo x >> src/a.txt", &["decides: echo x hidden >src/a.txt"]),
        ("> a.txt", &["decides: : hidden >a.txt"]),
        ("make test > /dev/null 2>&1", &["decides: make test hidden"]),
        ("make test >out.log 2>&1 </dev/null", &["decides: make test hidden >out.log </dev/null"]),
        ("make test &> out.log", &["decides: make test hidden >out.log"]),
        ("make test 2> err.log", &["decides: make test >err.log"]),
        (
            "make test > out.log; tail out.log",
            &["followed: make test filtered >out.log", "decides: tail out.log <out.log"],
        ),
        ("make test > >(tee log)", &["substitution: tee log hidden >log", "decides: make test filtered"]),
        ("{ make a; make b; } > log 2>&1", &["followed: make a hidden >log", "decides: make b hidden >log"]),
        ("sed -i 's/foo/bar/g; s#a/b#c#' x.txt", &["decides: sed -i \"s/foo/bar/g; s#a/b#c#\" x.txt >x.txt"]),
        ("sed -i.bak -e s/a/b/ a.c b.c", &["decides: sed -i.bak -e s/a/b/ a.c b.c >a.c,b.c"]),
        ("sed -i '' s/a/b/ a.c", &["decides: sed -i \"\" s/a/b/ a.c >a.c"]),
        ("sed -Ei s/a/b/ ./src/../a.c", &["decides: sed -Ei s/a/b/ ./src/../a.c >a.c"]),
        ("sed -n 1,20p a.c", &["decides: sed -n 1,20p a.c <a.c"]),
        ("sed -i s/a/b/ *.c", &["decides: sed -i s/a/b/ ‹*.c› >*"]),
        ("cd src && sed -i s/a/b/ a.c", &["decides: cd src", "decides: sed -i s/a/b/ a.c @src >src/a.c"]),
        ("cd $X && touch a", &["decides: cd ‹$X›", "decides: touch a @? >*"]),
        (
            "rg -l foo | xargs sed -i s/foo/bar/",
            &["piped: rg -l foo hidden", "decides: sed -i s/foo/bar/ ‹› >*"],
        ),
        (
            "find . -name '*.py' -exec sed -i s/a/b/ {} +",
            &["decides: find . -name *.py -exec sed -i s/a/b/ {} +", "loop: sed -i s/a/b/ ‹{}› >*"],
        ),
        ("perl -pi -e 's/a/b/' a.c b.c", &["decides: perl -pi -e s/a/b/ a.c b.c >a.c,b.c"]),
        ("echo x | tee -a a.txt", &["piped: echo x filtered", "decides: tee -a a.txt >a.txt"]),
        ("mv a.py b.py", &["decides: mv a.py b.py >a.py,b.py"]),
        ("mv a.py b.py pkg/", &["decides: mv a.py b.py pkg/ >a.py,b.py,pkg/a.py,pkg/b.py"]),
        ("cp a.py pkg/", &["decides: cp a.py pkg/ >pkg/a.py"]),
        ("rm -rf build a.py", &["decides: rm -rf build a.py >build,a.py"]),
        ("touch -d yesterday a", &["decides: touch -d yesterday a >a"]),
        ("patch -p1 < fix.diff", &["decides: patch -p1 >* <fix.diff"]),
        ("git apply fix.patch", &["decides: git apply fix.patch >*"]),
        ("git apply --check fix.patch", &["decides: git apply --check fix.patch"]),
        ("git checkout -- src/a.py", &["decides: git checkout -- src/a.py >src/a.py"]),
        ("git checkout HEAD~1 -- a b", &["decides: git checkout HEAD~1 -- a b >a,b"]),
        ("git checkout main", &["decides: git checkout main >*"]),
        ("git checkout -b topic", &["decides: git checkout -b topic"]),
        ("git restore a.py", &["decides: git restore a.py >a.py"]),
        ("git restore --staged a.py", &["decides: git restore --staged a.py"]),
        ("git mv a b", &["decides: git mv a b >a,b"]),
        ("git rm a", &["decides: git rm a >a"]),
        ("git stash pop", &["decides: git stash pop >*"]),
        ("git add -A && git commit -m x", &["decides: git add -A", "decides: git commit -m x"]),
        ("cargo fmt", &["decides: cargo fmt >*"]),
        ("cargo fmt --check", &["decides: cargo fmt --check"]),
        ("ruff check --fix src/a.py", &["decides: ruff check --fix src/a.py >src/a.py"]),
        ("prettier --write .", &["decides: prettier --write . >*"]),
        ("gofmt -w a.go", &["decides: gofmt -w a.go >a.go"]),
        ("curl -sSf https://x/y -o bin/tool", &["decides: curl -sSf https://x/y -o bin/tool >bin/tool"]),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch\nEOF",
            &["decides: apply_patch >src/a.py,b.py"],
        ),
        ("dd if=/dev/zero of=disk.img bs=1", &["decides: dd if=/dev/zero of=disk.img bs=1 >disk.img"]),
    ]);
}

#[test]
fn reads() {
    check(&[
        ("cat a.py ./b.py", &["decides: cat a.py ./b.py <a.py,b.py"]),
        ("head -n 20 a.py", &["decides: head -n 20 a.py <a.py"]),
        ("tail -20 a.py", &["decides: tail -20 a.py <a.py"]),
        ("grep -n foo a.py b.py", &["decides: grep -n foo a.py b.py <a.py,b.py"]),
        ("rg -e foo -A 3 src/a.rs", &["decides: rg -e foo -A 3 src/a.rs <src/a.rs"]),
        ("awk '{ print $1 }' f.txt", &["decides: awk \"{ print $1 }\" f.txt <f.txt"]),
        ("nl -ba a.py | sed -n '1,5p'", &["piped: nl -ba a.py filtered <a.py", "decides: sed -n 1,5p"]),
        ("git show HEAD:src/a.py", &["decides: git show HEAD:src/a.py <src/a.py"]),
        ("git diff src/a.py", &["decides: git diff src/a.py <src/a.py"]),
        (
            "while read -r l; do echo \"$l\"; done < file.txt",
            &["condition: read -r l <file.txt", "loop: echo ‹$l›"],
        ),
        ("cat /etc/hosts", &["decides: cat /etc/hosts </etc/hosts"]),
    ]);
}

#[test]
fn what_is_not_understood_says_why() {
    check(&[
        (
            "echo 'unterminated",
            &[
                "not understood: not shell syntax: unmatched delimiter at line 1, position 18: unterminated single quote",
            ],
        ),
        (
            "make test &&",
            &[
                "not understood: not shell syntax: parse error at line 1, position 12: syntax error: unexpected end of input",
            ],
        ),
    ]);
}

/// Which command failed, given that the whole did.
#[test]
fn failures_are_explained_where_they_can_be() {
    let table: &[(&str, &[&str])] = &[
        ("pytest", &["pytest"]),
        ("cd x && pytest", &["cd", "pytest"]),
        ("echo a && pytest", &["pytest"]),
        ("pytest; make x", &["make"]),
        ("pytest; echo ok", &[]),
        ("pytest | tail", &["tail"]),
        ("set -o pipefail; pytest | tail", &["pytest", "tail"]),
        ("set -e; make a; make b", &["make", "make"]),
        ("pytest || exit 1", &["pytest"]),
        ("pytest || exit 1; echo ok", &["pytest"]),
        ("pytest || { echo bad; exit 1; }", &["pytest"]),
        ("if make test; then echo ok; else exit 1; fi", &["make"]),
        ("pytest; rc=$?; tail log; exit $rc", &["pytest"]),
        ("pytest || true", &["pytest"]),
        ("! pytest", &[]),
        ("pytest & wait", &["wait"]),
        ("bash -c 'cd x; pytest'", &["pytest"]),
        ("(pytest)", &["pytest"]),
    ];
    for (command, expected) in table {
        let intents = Intents::read(command);
        let found: Vec<&str> = match intents.explained_failure() {
            Failed::Unknown => vec![],
            Failed::Known(one) => vec![&one.program],
            Failed::OneOf(several) => several.iter().map(|command| command.program.as_str()).collect(),
        };
        assert_eq!(found, *expected, "{command}");
    }
}

#[test]
fn intents_survive_being_recorded() {
    for command in [
        "cd x && pytest \"$A\" | tail",
        "sed -i s/a/b/ *.py; echo x > f",
        "echo 'unterminated",
        "pytest || true",
        "[ -f a ] && pytest; echo \"exit: $?\"",
    ] {
        let intents = Intents::read(command);
        let recorded = serde_json::to_string(&intents).unwrap();
        assert_eq!(serde_json::from_str::<Intents>(&recorded).unwrap(), intents, "{recorded}");
    }
    let recorded = serde_json::to_value(Intents::read("pytest -q | tail")).unwrap();
    assert_eq!(
        recorded,
        serde_json::json!({"understood": [
            {"program": "pytest", "arguments": ["-q"], "attribution": {"masked": "piped"}, "suspect": false, "output": "filtered", "shows_end": true},
            {"program": "tail", "attribution": "decides", "suspect": true, "output": "shown"},
        ]})
    );
}

#[test]
fn proof_by_success_lists_what_decides() {
    let intents = Intents::read("make a && make b; make c && make d");
    let proven: Vec<_> =
        intents.proven_by_success().flat_map(|command| command.arguments.iter().map(Word::text)).collect();
    assert_eq!(proven, ["c", "d"]);
    assert_eq!(Intents::read("pytest |").commands(), []);
    assert_eq!(Mask::Piped.to_string(), "a pipe hides its exit status");
}

#[test]
fn loops_branches_and_cases() {
    check(&[
        ("case $x in *) pytest;; esac", &["decides: pytest"]),
        ("case $x in a) ;; *) pytest;; esac", &["conditional: pytest"]),
        ("case $x in a) pytest;; esac && make x", &["conditional: pytest", "decides: make x"]),
        ("for f in a; do pytest; done", &["loop: pytest"]),
        ("set -e; for f in a; do pytest; done", &["followed: set -e", "decides: pytest"]),
        ("set -e; for f in $x; do pytest; done", &["followed: set -e", "loop: pytest"]),
        (
            "set -e; for f in a; do pytest; continue; make x; done",
            &["followed: set -e", "loop: pytest", "loop: continue", "loop: make x"],
        ),
        ("until pytest; do break; done", &["condition: pytest", "loop: break"]),
        ("until pytest; do sleep 1; done", &["decides: pytest", "loop: sleep 1"]),
        ("for ((i=0;i<3;i++)); do pytest; done", &["loop: pytest"]),
        ("if a; then cd x; fi; pytest", &["condition: a", "conditional: cd x", "decides: pytest @?"]),
        (
            "if a; then cd x; else cd x; fi; pytest",
            &["condition: a", "conditional: cd x", "conditional: cd x", "decides: pytest @x"],
        ),
        ("case $x in a) cd y;; esac; pytest", &["conditional: cd y", "decides: pytest @?"]),
        ("for i in a; do cd x; done; pytest", &["loop: cd x", "decides: pytest @?"]),
        ("(cd x); pytest", &["followed: cd x", "decides: pytest"]),
        ("cd x | cat; pytest", &["piped: cd x filtered", "followed: cat", "decides: pytest"]),
        ("cd x & pytest", &["background: cd x", "decides: pytest"]),
        ("select i in a b; do pytest; done", &["loop: pytest"]),
        (
            "if a; then b; elif c; then pytest; fi",
            &["condition: a", "conditional: b", "condition: c", "conditional: pytest"],
        ),
        ("a && { b || c; } && pytest", &["decides: a", "orelse: b", "conditional: c", "decides: pytest"]),
        ("a || b && pytest", &["orelse: a", "conditional: b", "decides: pytest"]),
        (
            "true && pytest; false || make x",
            &["followed: true", "followed: pytest", "conditional: false", "decides: make x"],
        ),
        ("set -e; false; pytest", &["followed: set -e", "conditional: false", "conditional: pytest"]),
        (
            "pytest | tee log; rc=${PIPESTATUS[0]}; exit $rc",
            &["decides: pytest filtered", "followed: tee log >log", "decides: exit ‹$rc›"],
        ),
        (
            "pytest | tee log && exit ${PIPESTATUS[0]}",
            &["decides: pytest filtered", "decides: tee log >log", "decides: exit ‹${PIPESTATUS[0]}›"],
        ),
        ("pytest || exit $?", &["decides: pytest", "conditional: exit ‹$?›"]),
        ("pytest && ls; exit $?", &["decides: pytest", "decides: ls", "decides: exit ‹$?›"]),
        ("pytest || ls; exit $?", &["orelse: pytest", "conditional: ls", "decides: exit ‹$?›"]),
        ("pytest; ls; exit $?", &["followed: pytest", "decides: ls", "decides: exit ‹$?›"]),
        ("pytest; x=1 && exit $?", &["followed: pytest", "decides: exit ‹$?›"]),
        ("pytest && exit $?", &["decides: pytest", "decides: exit ‹$?›"]),
        (
            "set +o pipefail; pytest | tail",
            &["followed: set +o pipefail", "piped: pytest filtered", "decides: tail"],
        ),
        ("set -o errexit; pytest; ls", &["followed: set -o errexit", "decides: pytest", "decides: ls"]),
        (
            "set -e -o pipefail; pytest | tail; ls",
            &["followed: set -e -o pipefail", "decides: pytest filtered", "decides: tail", "decides: ls"],
        ),
        ("set -- -e; pytest; ls", &["followed: set -- -e", "followed: pytest", "decides: ls"]),
        ("set -x; pytest; ls", &["followed: set -x", "followed: pytest", "decides: ls"]),
    ]);
}

/// What a pipe and redirections let through.
#[test]
fn what_is_shown_of_an_output() {
    check(&[
        ("pytest | grep -q x", &["piped: pytest hidden", "decides: grep -q x"]),
        ("pytest | grep x", &["piped: pytest filtered", "decides: grep x"]),
        ("pytest | rg --count x", &["piped: pytest hidden", "decides: rg --count x"]),
        ("pytest | head -n 0", &["piped: pytest hidden", "decides: head -n 0"]),
        ("pytest | head -n 5", &["piped: pytest filtered", "decides: head -n 5"]),
        ("pytest | tail -c0", &["piped: pytest hidden", "decides: tail -c0"]),
        ("pytest | grep x | wc -l", &["piped: pytest hidden", "piped: grep x hidden", "decides: wc -l"]),
        (
            "pytest | tee log | tail > out",
            &["piped: pytest hidden", "piped: tee log hidden >log", "decides: tail hidden >out"],
        ),
        ("pytest | tee log > /dev/null", &["piped: pytest filtered", "decides: tee log hidden >log"]),
        ("pytest | xargs cat", &["piped: pytest hidden", "decides: cat ‹›"]),
        ("pytest | { cat; tail; }", &["piped: pytest filtered", "followed: cat", "decides: tail"]),
        ("pytest | { cat; wc; }", &["piped: pytest hidden", "followed: cat", "decides: wc"]),
        ("{ pytest > log; } | cat", &["piped: pytest hidden >log", "decides: cat"]),
        ("pytest >&2", &["decides: pytest"]),
        ("pytest >&-", &["decides: pytest"]),
        ("pytest >& log", &["decides: pytest hidden >log"]),
        ("pytest &>> log", &["decides: pytest hidden >log"]),
        ("pytest >| log", &["decides: pytest hidden >log"]),
        ("pytest 1> log", &["decides: pytest hidden >log"]),
        ("pytest <> log", &["decides: pytest >log"]),
        ("pytest > /dev/stderr", &["decides: pytest"]),
        ("pytest > /dev/tty", &["decides: pytest"]),
        ("pytest > /dev/full", &["decides: pytest hidden"]),
        ("pytest > \"$LOG\"", &["decides: pytest hidden >*"]),
        ("pytest > ''", &["decides: pytest hidden >*"]),
        (
            "(pytest; ls) > log; cat log",
            &["followed: pytest filtered >log", "followed: ls filtered >log", "decides: cat log <log"],
        ),
        (
            "pytest > log; cat log > /dev/null",
            &["followed: pytest hidden >log", "decides: cat log hidden <log"],
        ),
        ("pytest > log; cat other", &["followed: pytest hidden >log", "decides: cat other <other"]),
        ("t() { pytest; }; t > log", &["decides: pytest hidden >log"]),
        ("t() { pytest; }; t > log; t", &["followed: pytest hidden >log", "decides: pytest"]),
        ("bash -c 'pytest' > log", &["decides: pytest hidden >log"]),
        ("if a; then pytest; fi > log", &["condition: a hidden >log", "conditional: pytest hidden >log"]),
    ]);
}

#[test]
fn options_of_wrappers() {
    check(&[
        ("bash -o pipefail -c 'pytest | tail'", &["decides: pytest filtered", "decides: tail"]),
        ("bash -o errexit -c 'pytest; ls'", &["decides: pytest", "decides: ls"]),
        ("bash -O extglob -c pytest", &["decides: pytest"]),
        ("bash +x -c pytest", &["decides: pytest"]),
        ("bash --rcfile x -c pytest", &["decides: pytest"]),
        ("bash --norc -c pytest", &["decides: pytest"]),
        ("bash -- a.sh b", &["decides: a.sh b"]),
        ("bash - a.sh b", &["decides: a.sh b"]),
        ("bash -s <<'EOF'\npytest\nEOF", &["decides: pytest"]),
        ("bash", &["decides: bash"]),
        ("bash -c", &["decides: bash -c"]),
        ("setsid bash -c pytest", &["background: bash -c pytest"]),
        ("setsid -w pytest", &["decides: pytest"]),
        ("xargs --no-run-if-empty pytest", &["conditional: pytest ‹›"]),
        ("xargs -I{} pytest {}/a", &["decides: pytest ‹{}/a› ‹›"]),
        ("xargs", &["decides: xargs"]),
        ("find . -execdir pytest {} +", &["decides: find . -execdir pytest {} +", "loop: pytest ‹{}›"]),
        ("find . -exec pytest {}", &["decides: find . -exec pytest {}"]),
        ("find . -exec \\;", &["decides: find . -exec ;"]),
        ("python -W error -m pytest", &["decides: pytest"]),
        ("python -m app", &["decides: python -m app"]),
        ("python - -m pytest", &["decides: python - -m pytest"]),
        ("python .venv/bin/pip install x", &["decides: python .venv/bin/pip install x"]),
        ("python -u .venv/bin/pytest -q", &["decides: pytest -q"]),
        ("node node_modules/jest/bin/jest.js --ci", &["decides: jest --ci"]),
        ("node src/jest.js", &["decides: node src/jest.js"]),
        ("env A=1 2B=1 pytest", &["decides: 2B=1 pytest"]),
        ("env A=1", &["decides: env A=1"]),
        ("timeout 60 -- pytest", &["decides: pytest"]),
        ("timeout 60 -- tool a", &["decides: tool a"]),
        ("uv --directory web run bash a.sh", &["decides: a.sh @web"]),
        ("flock -n lock -- pytest", &["decides: pytest"]),
        ("setsid bash a.sh", &["background: a.sh"]),
        ("nohup bash -x a.sh b", &["decides: a.sh b"]),
        ("yarn run jest", &["decides: jest"]),
        ("yarn run unknown", &["decides: yarn run unknown"]),
        ("npm jest", &["decides: npm jest"]),
        ("tool -- pytest", &["decides: pytest"]),
        ("tool -- unknown", &["decides: tool -- unknown"]),
        ("tool pytest", &["decides: pytest"]),
        ("tool other pytest", &["decides: tool other pytest"]),
        ("tool run A=1 -v pytest", &["decides: pytest"]),
        ("tool -c 'pytest -q'", &["decides: pytest -q"]),
        ("tool -c pytest", &["decides: tool -c pytest"]),
        ("tool -xc 'make test'", &["decides: make test"]),
        ("tool run ls", &["decides: tool run ls"]),
        ("tool run git status", &["decides: git status"]),
        ("tool run git", &["decides: tool run git"]),
        ("tool run make", &["decides: tool run make"]),
        ("tool run \"$X\" pytest", &["decides: tool run ‹$X› pytest"]),
        ("./tool run pytest", &["decides: tool run pytest"]),
        ("node_modules/.bin/tool run pytest", &["decides: pytest"]),
        ("tool.sh run pytest", &["decides: tool.sh run pytest"]),
        ("powershell -Command", &["decides: powershell -Command"]),
        ("nix develop --command pytest -q", &["decides: pytest -q"]),
        ("uv --directory web run pytest && ls", &["decides: pytest @web", "decides: ls"]),
        ("uv --directory=web run pytest", &["decides: pytest @web"]),
        ("uv --directory \"$X\" run pytest", &["decides: pytest @?"]),
        ("cd a && uv --directory web run pytest", &["decides: cd a", "decides: pytest @a/web"]),
    ]);
}

#[test]
fn more_edits_and_reads() {
    let long = format!("touch {}", "a".repeat(4097));
    let fits = format!("touch {}", "a".repeat(4096));
    let many: String = (0..201).map(|at| format!(" f{at}")).collect();
    let touched = Intents::read(&format!("touch{many}")).commands()[0].edits.clone();
    assert_eq!((touched.paths.len(), touched.others), (200, true));
    let read = Intents::read(&format!("cat{many}")).commands()[0].reads.len();
    assert_eq!(read, 200);
    let named = |command: &str| Intents::read(command).commands()[0].edits.clone();
    assert_eq!((named(&long).paths.len(), named(&long).others), (0, true));
    assert_eq!((named(&fits).paths.len(), named(&fits).others), (1, false));
    check(&[
        ("touch '' a", &["decides: touch \"\" a >a,*"]),
        ("touch a a", &["decides: touch a a >a"]),
        ("touch -- -a", &["decides: touch -- -a >-a"]),
        ("rm /dev/null a", &["decides: rm /dev/null a >a"]),
        ("mv a b/", &["decides: mv a b/ >a,b/a"]),
        ("mv a/ b c", &["decides: mv a/ b c >a,b,c/a,c/b"]),
        ("mv a \"$X\" c", &["decides: mv a ‹$X› c >a,c/a,*"]),
        ("mv", &["decides: mv"]),
        ("cp a b", &["decides: cp a b >b"]),
        ("sed --in-place s/a/b/ a.c", &["decides: sed --in-place s/a/b/ a.c >a.c"]),
        (
            "sed --in-place=.b --expression=s/a/b/ a.c",
            &["decides: sed --in-place=.b --expression=s/a/b/ a.c >a.c"],
        ),
        ("sed -e i a.c", &["decides: sed -e i a.c <a.c"]),
        ("sed -f in.sed a.c", &["decides: sed -f in.sed a.c <a.c"]),
        ("sed s/a/b/ -- -i", &["decides: sed s/a/b/ -- -i <-i"]),
        ("sed -ni.bak p a.c", &["decides: sed -ni.bak p a.c >a.c"]),
        ("perl -i.bak -pe s/a/b/ a.c", &["decides: perl -i.bak -pe s/a/b/ a.c >a.c"]),
        ("perl -e 1 a.c", &["decides: perl -e 1 a.c"]),
        ("perl --ie 1 a.c", &["decides: perl --ie 1 a.c"]),
        ("patch --dry-run a.c", &["decides: patch --dry-run a.c"]),
        ("patch a.c", &["decides: patch a.c >a.c"]),
        ("apply_patch '*** Delete File: a.py'", &["decides: apply_patch \"*** Delete File: a.py\" >a.py"]),
        ("apply_patch '*** Move to: b.py'", &["decides: apply_patch \"*** Move to: b.py\" >b.py"]),
        ("apply_patch x", &["decides: apply_patch x >*"]),
        ("git checkout", &["decides: git checkout >*"]),
        ("git", &["decides: git"]),
        ("git -C x checkout -- a", &["decides: git -C x checkout -- a >*"]),
        ("git -C x status", &["decides: git -C x status"]),
        ("git restore -SW a", &["decides: git restore -SW a >a"]),
        ("git restore -S -W a", &["decides: git restore -S -W a >a"]),
        ("git rm --cached a", &["decides: git rm --cached a"]),
        ("git reset", &["decides: git reset"]),
        ("git reset --hard", &["decides: git reset --hard >*"]),
        ("git stash list", &["decides: git stash list"]),
        ("git stash", &["decides: git stash >*"]),
        ("git clean -fd", &["decides: git clean -fd >*"]),
        ("curl -o - x", &["decides: curl -o - x"]),
        ("curl -o /dev/null x", &["decides: curl -o /dev/null x"]),
        ("gofmt -w .", &["decides: gofmt -w . >*"]),
        ("black .hidden a.", &["decides: black .hidden a. >*"]),
        ("cat -", &["decides: cat -"]),
        ("jq --arg a b . c.json", &["decides: jq --arg a b . c.json"]),
        ("grep -r x . src/ a", &["decides: grep -r x . src/ a <a"]),
        ("grep -e x a b", &["decides: grep -e x a b <a,b"]),
        ("git show HEAD", &["decides: git show HEAD"]),
        ("git cat-file -p HEAD:a.py", &["decides: git cat-file -p HEAD:a.py <a.py"]),
        ("git blame a.py", &["decides: git blame a.py <a.py"]),
        ("git diff main", &["decides: git diff main"]),
        ("git log a.py", &["decides: git log a.py"]),
        ("cd /a && cat ../../b ./c/../d", &["decides: cd /a", "decides: cat ../../b ./c/../d @/a </b,/a/d"]),
        ("cat ../../b ../a/../c", &["decides: cat ../../b ../a/../c <../../b,../c"]),
    ]);
}
