//! What an edit did to the text of a file, and what Python code imports. Pure: starts no process, opens no file, asks for no time.
//!
//! Both texts are lexed side by side by the language that the file's name says ([`language`] is the table). If the code is the
//! same on both sides, only layout or comments changed. A part of a file is lexed with care: what cannot be decided is code.

mod language;
mod lexer;
mod nature;
mod python_imports;
mod script;
mod text_hash;

pub use nature::{Nature, nature, nature_of_part};
pub use python_imports::{PythonImport, python_imports};
pub use script::script_ending;
pub use text_hash::TextHash;
