//! A password that a sentence in another language than English names: the word for it, and what stands behind it.

/// What people call a password, a secret or their credentials, in small letters.
const WORDS: &[&str] = &[
    "kennwort",
    "zugangsdaten",
    "passwort",
    "mot de passe",
    "mdp",
    "contraseña",
    "contrasenya",
    "clave secreta",
    "senha",
    "palavra-passe",
    "wachtwoord",
    "hasło",
    "jelszó",
    "jelszava",
    "şifre",
    "parola",
    "lozinka",
    "geslo",
    "heslo",
    "salasana",
    "lösenord",
    "adgangskode",
    "passord",
    "parool",
    "slaptažodis",
    "mật khẩu",
    "kata sandi",
    "пароль",
    "парола",
    "κωδικός",
    "סיסמה",
    "كلمة المرور",
    "كلمة السر",
    "รหัสผ่าน",
    "पासवर्ड",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "암호",
];

/// The dot of the Turkish İ, which becomes a letter of its own.
const DOT: char = '\u{307}';

/// So many words may stand between: `le mot de passe du serveur est …`.
const MOST_BETWEEN: usize = 4;

/// The first byte of what may be it: behind the word, if a sign follows or something that is no word of a sentence.
pub(super) fn value_place(line: &str) -> Option<usize> {
    let small = line.to_lowercase().replace(DOT, "");
    let ends = WORDS.iter().filter_map(|word| {
        let at = small.find(word)?;
        let before = small.get(..at)?.chars().next_back();
        let is_part = word.is_ascii() && before.is_some_and(char::is_alphanumeric);
        (!is_part).then_some(at + word.len())
    });
    let end = ends.min()?;
    let rest = small.get(end..)?;
    let signed = rest.trim_start().starts_with([':', '=', '→', '-', '„', '"', '\'', '`']);
    let is_value = |word: &str| {
        let letters = word.trim_matches(|letter: char| ".,;:!?()".contains(letter));
        letters.chars().any(|letter| letter.is_ascii_digit()) && letters.chars().any(char::is_alphabetic)
            || letters.chars().any(|letter| "!#$%&*^@~".contains(letter))
    };
    let named = rest.split_whitespace().take(MOST_BETWEEN + 1).any(is_value);
    (!rest.trim().is_empty() && (signed || named)).then(|| place_in(line, end))
}

/// Where in the line that place of its small letters is. Some letters change their length when they are made small.
fn place_in(line: &str, small_place: usize) -> usize {
    let mut small = 0;
    let mut letters = line.char_indices();
    let found = letters.find(|(_, letter)| {
        let is_behind = small >= small_place;
        small += letter.to_lowercase().filter(|small| *small != DOT).map(char::len_utf8).sum::<usize>();
        is_behind
    });
    found.map_or(line.len(), |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_one_in_every_language() {
        for (line, kept) in [
            ("пароль: Falcon", "пароль"),
            ("le mot de passe du serveur est Falcon4885", "le mot de passe"),
            ("mi contraseña es hunter22", "mi contraseña"),
            ("密码是ab12cd", "密码"),
            ("パスワードは hunter22 です", "パスワード"),
            ("Das Kennwort lautet Sommer2024", "Das Kennwort"),
            ("ŞİFRE: abc", "ŞİFRE"),
            ("İ пароль: x Ⱥ", "İ пароль"),
            ("ẞ ΚΩΔΙΚΌΣ: abc", "ẞ ΚΩΔΙΚΌΣ"),
        ] {
            assert_eq!(value_place(line).and_then(|at| line.get(..at)), Some(kept), "{line}");
        }
        for line in [
            "Ajoute un champ mot de passe au formulaire",
            "Das Kennwort wird nicht geprüft",
            "Use 12 of them",
        ] {
            assert_eq!(value_place(line), None, "{line}");
        }
    }
}
