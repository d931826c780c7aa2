//! A table of keys: read, merged, finished and described from its rows.

use std::time::Duration;

use settings::{
    Boolean, Choice, List, Nested, Problems, Quoting, Reader, Shape, TableOfKeys as _, Text, Time, Whole,
    choices, table,
};

table! {
    #[derive(Debug, PartialEq)]
    struct House, layer HouseLayer {
        /// How it is
        /// called.
        name: Text;
        /// How many live there.
        people as "inhabitants": Whole<u8, 1, 9> = 2;
        /// When the door is locked.
        lock_after: Time = Duration::from_secs(90);
        /// The roof.
        roof: Nested<Roof> = Roof::default();
        /// The rooms.
        rooms as "room": List<Room> = Vec::new();
        /// Who to call.
        owner: Text, or "nobody";
    }
}

table! {
    #[derive(Debug, PartialEq)]
    struct Roof, layer RoofLayer {
        /// Its form.
        form: Choice<Form> = Form::Flat;
        /// Whether it is green.
        green: Boolean = false;
    }
}

table! {
    #[derive(Debug, PartialEq)]
    struct Room, layer RoomLayer {
        /// What for.
        purpose: Text;
    }
}

choices! {
    enum Form { Flat = "flat", Steep = "steep" }
}

fn read(text: &str, quoting: Quoting) -> (HouseLayer, String) {
    let mut reader = Reader::new("house.toml", text, quoting);
    let layer = reader.read::<House>().unwrap_or_default();
    (layer, Problems::sorted(reader.problems).to_string())
}

#[test]
fn the_newer_file_wins_key_by_key_and_adds_to_lists() {
    let (mut older, _) =
        read("name = 'a'\nowner = 'b'\nroof.green = true\n[[room]]\npurpose = 'cook'\n", Quoting::Values);
    let (newer, said) =
        read("inhabitants = 3\n[roof]\nform = 'steep'\n[[room]]\npurpose = 'sleep'\n", Quoting::Values);
    assert_eq!((said.as_str(), House::missing(&newer)), ("", vec!["name"]));
    House::merge(&mut older, newer);
    assert_eq!(House::missing(&older), Vec::<&str>::new());
    let room = |purpose: &str| Room { purpose: purpose.to_owned() };
    let expected = House {
        name: "a".to_owned(),
        people: 3,
        lock_after: Duration::from_secs(90),
        roof: Roof { form: Form::Steep, green: true },
        rooms: vec![room("cook"), room("sleep")],
        owner: Some("b".to_owned()),
    };
    assert_eq!(House::finish(older), expected);
}

const WRONG: &str =
    "nmae = 1\ninhabitants = 10\nlock_after = 30\nowner = true\n[roof]\nform = 'stepe'\n[[room]]\n";

#[test]
fn every_mistake_has_its_place_and_the_name_that_was_meant() {
    assert_eq!(
        read(WRONG, Quoting::Values).1,
        "house.toml:1:1: unknown key `nmae`; did you mean `name`?\n\
         house.toml:2:15: `10` is not a whole number from 1 to 9\n\
         house.toml:3:14: `30` is not a duration; write `\"30s\"`\n\
         house.toml:4:9: `true` is not a string\n\
         house.toml:6:8: `stepe` is not one of flat, steep; did you mean `steep`?\n\
         house.toml:7:1: `[[room]]` has no `purpose`"
    );
}

/// Values may be tokens.
#[test]
fn values_need_not_be_quoted() {
    assert_eq!(
        read(WRONG, Quoting::KeysOnly).1,
        "house.toml:1:1: unknown key `nmae`; did you mean `name`?\n\
         house.toml:2:15: `inhabitants` is not a whole number from 1 to 9\n\
         house.toml:3:14: `lock_after` is not a duration; write it like `\"30s\"`\n\
         house.toml:4:9: `owner` is not a string\n\
         house.toml:6:8: `form` is not one of flat, steep; did you mean `steep`?\n\
         house.toml:7:1: `room` has no `purpose`"
    );
}

#[test]
fn the_rows_are_the_reference() {
    let keys = House::reference().keys;
    let told: Vec<_> =
        keys.iter().map(|key| (key.name, key.about.as_str(), key.default.as_deref())).collect();
    assert_eq!(
        told.get(..3),
        Some(
            &[
                ("name", "How it is called.", None),
                ("inhabitants", "How many live there.", Some("`2`")),
                ("lock_after", "When the door is locked.", Some("`\"90s\"`")),
            ][..]
        )
    );
    assert_eq!(told.last(), Some(&("owner", "Who to call.", Some("nobody"))));
    assert!(keys.iter().any(|key| matches!(&key.shape, Shape::Table(roof) if roof.keys.len() == 2)));
}
