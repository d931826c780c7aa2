use crate::program::{run, shown};

#[test]
fn the_demo_shows_a_turn() {
    insta::assert_snapshot!(shown(&run(&["demo"])));
}
