//! The test runners whose summaries are read: one line each here, and a function in the file of their language.

mod compiled;
mod counts;
mod javascript;
mod python;
mod scripting;

use serde::{Deserialize, Serialize};

use crate::book::Book;

macro_rules! runners {
    ($($runner:ident => $language:ident :: $reads:ident,)*) => {
        /// Whose summary it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum Runner {
            $($runner),*
        }

        impl Runner {
            pub const ALL: &[Self] = &[$(Self::$runner),*];

            /// Whether the line is of this runner's summary; what it says is put into the book.
            pub(crate) fn reads(self, book: &mut Book, line: &str) -> bool {
                match self {
                    $(Self::$runner => $language::$reads(book, line)),*
                }
            }
        }
    };
}

// In the order in which a line is offered to them.
runners! {
    Pytest => python::pytest,
    Unittest => python::unittest,
    Cargo => compiled::cargo,
    Nextest => compiled::nextest,
    Jest => javascript::jest,
    Vitest => javascript::vitest,
    Mocha => javascript::mocha,
    Go => compiled::go,
    Gotestsum => compiled::gotestsum,
    Node => javascript::node_test,
    Bun => javascript::bun,
    Deno => javascript::deno,
    Playwright => javascript::playwright,
    Ava => javascript::ava,
    Cypress => javascript::cypress,
    Karma => javascript::karma,
    Rspec => scripting::rspec,
    Minitest => scripting::minitest,
    Jasmine => scripting::jasmine,
    Exunit => scripting::exunit,
    Bats => scripting::bats,
    Phpunit => scripting::phpunit,
    Pest => scripting::pest,
    Ctest => compiled::ctest,
    Gtest => compiled::gtest,
    Catch2 => compiled::catch2,
    Swift => compiled::swift,
    Xcodebuild => compiled::xcodebuild,
    Dart => compiled::dart,
    Zig => compiled::zig,
    Cabal => compiled::cabal,
    Dotnet => compiled::dotnet,
    Maven => compiled::maven,
    Gradle => compiled::gradle,
    Sbt => compiled::sbt,
    Tap => scripting::tap,
}
