//! Small tools for text that several crates need. Pure: starts no process, opens no file, asks for no time.

mod base64;
mod counted;
mod duration;
mod error_chain;
mod escape_sequences;
mod hexadecimal;
mod html;
mod named;
mod nearest;
mod number;
mod shell_quoting;
mod shortening;
mod size;
mod table;
mod visible;
mod width;
mod word_finder;

pub use base64::{base64, from_base64};
pub use counted::{counted, listed};
pub use duration::{duration_in_words, parse_duration, short_duration};
pub use error_chain::{error_chain, without_error_numbers};
pub use escape_sequences::without_colours;
pub use hexadecimal::{from_hexadecimal, hexadecimal};
pub use html::html_text;
pub use nearest::nearest;
pub use number::shortened_number;
pub use shell_quoting::{command_line, shell_word};
pub use shortening::{first_characters, head, shortened, shortened_inside, shortened_to_bytes, tail};
pub use size::{parse_size, size_in_words};
pub use table::{Cell, Column, Table};
pub use visible::{visible, visible_lines};
pub use width::{fit, wrap, wrap_behind};
pub use word_finder::WordFinder;

/// How everything begins that we tell an agent or a person. A prompt that begins so is our own text come back.
pub const OWN_PREFIX: &str = "[checkstone]";
