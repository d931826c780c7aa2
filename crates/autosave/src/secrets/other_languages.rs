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

/// So many words may stand between: `le mot de passe du serveur est …`.
const MOST_BETWEEN: usize = 4;

/// The first byte of what may be it: behind the word, if a sign follows or something that is no word of a sentence.
pub(super) fn value_place(line: &str) -> Option<usize> {
    // The dot of the Turkish İ becomes a letter of its own.
    let small = line.to_lowercase().replace('\u{307}', "");
    // In the few scripts whose letters change their length, a place in the one text is none in the other.
    let same_places = small.len() == line.len();
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
    (!rest.trim().is_empty() && (signed || named)).then_some(if same_places { end } else { 0 })
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
            ("ŞİFRE: abc", ""),
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
