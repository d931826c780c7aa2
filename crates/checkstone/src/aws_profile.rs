//! The user's AWS profile, as the service's own tools keep it: access keys, region and endpoint from `~/.aws`.

/// Values of the profile of this name, by the names that the environment has for them; from the texts of `credentials` and `config`.
pub(crate) fn options(profile: &str, credentials: &str, config: &str) -> Vec<(String, String)> {
    let in_config = if profile == "default" { "default".to_owned() } else { format!("profile {profile}") };
    let mut options = section(credentials, profile);
    options.extend(section(config, &in_config));
    options
}

fn section(text: &str, wanted: &str) -> Vec<(String, String)> {
    let mut is_in = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_in = name.trim() == wanted;
        } else if let Some((key, value)) =
            line.split_once('=').filter(|_| is_in && !line.starts_with(['#', ';']))
        {
            let name = match key.trim() {
                "aws_access_key_id" => "AWS_ACCESS_KEY_ID",
                "aws_secret_access_key" => "AWS_SECRET_ACCESS_KEY",
                "aws_session_token" => "AWS_SESSION_TOKEN",
                "region" => "AWS_REGION",
                "endpoint_url" => "AWS_ENDPOINT_URL",
                _ => continue,
            };
            found.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_one_section_of_each_file() {
        let credentials = "[default]\naws_access_key_id = one\n\n[lab]\naws_access_key_id=two\n# aws_session_token = no\naws_secret_access_key = a=b\n";
        let config = "[default]\nregion = here\n[profile lab]\nregion = there\noutput = json\n";
        let pairs = |profile: &str| {
            let options = options(profile, credentials, config);
            options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        assert_eq!(pairs("default"), ["AWS_ACCESS_KEY_ID=one", "AWS_REGION=here"]);
        assert_eq!(pairs("lab"), ["AWS_ACCESS_KEY_ID=two", "AWS_SECRET_ACCESS_KEY=a=b", "AWS_REGION=there"]);
        assert!(pairs("none").is_empty());
    }
}
