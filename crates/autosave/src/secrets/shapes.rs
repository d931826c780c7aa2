//! The table: what well-known secrets look like.

use super::checks::{self, Check};

/// Where a shape is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// On one line of anything, programs and archives too.
    Line,
    /// On one line of text.
    Text,
    /// Over several lines.
    Lines,
}

pub(super) struct Shape {
    pub(super) kind: &'static str,
    /// In small letters; one of them must occur, in any case, or the pattern is not tried.
    pub(super) keywords: &'static [&'static str],
    /// Its first group is the secret; without one, all of it.
    pub(super) pattern: &'static str,
    pub(super) place: Where,
    pub(super) check: Check,
}

const fn line(
    kind: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    check: Check,
) -> Shape {
    Shape { kind, keywords, pattern, place: Where::Line, check }
}

const fn text(
    kind: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    check: Check,
) -> Shape {
    Shape { kind, keywords, pattern, place: Where::Text, check }
}

pub(super) const SHAPES: [Shape; 62] = [
    line(
        "aws-access-key",
        &["akia", "asia", "abia", "acca"],
        r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b",
        checks::random,
    ),
    text(
        "aws-secret-key",
        &["secret_access_key", "secretaccesskey", "aws_secret", "awssecret", "secret-access-key"],
        r#"(?i)secret[_-]?(?:access[_-]?)?key["']?\s*(?:=|:|=>|,)\s*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        checks::random,
    ),
    line(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"\b(gh[pousr]_[0-9A-Za-z]{36})\b",
        checks::checksum,
    ),
    line(
        "github-fine-grained-token",
        &["github_pat_"],
        r"\b(github_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59})\b",
        checks::random,
    ),
    line(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glagent-", "glimt-", "gloas-", "glsoat-"],
        r"\b(gl(?:pat|dt|rt|ptt|cbt|ft|agent|imt|oas|soat)-[0-9A-Za-z_-]{20,64})",
        checks::random,
    ),
    line(
        "slack-token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xapp-"],
        r"\b((?:xox[abprs]|xoxe(?:\.xox[bp])?|xapp)-[0-9A-Za-z-]{20,250})",
        checks::random,
    ),
    line(
        "slack-webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([0-9A-Za-z+/]{40,60})",
        checks::random,
    ),
    line(
        "stripe-key",
        &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"],
        r"\b((?:(?:sk|rk)_(?:live|test)|whsec)_[0-9A-Za-z]{24,250})\b",
        checks::random,
    ),
    line("google-api-key", &["aiza"], r"\b(AIza[0-9A-Za-z_-]{35})(?:[^0-9A-Za-z_-]|$)", checks::random),
    line(
        "google-oauth-secret",
        &["gocspx-"],
        r"\b(GOCSPX-[0-9A-Za-z_-]{28})(?:[^0-9A-Za-z_-]|$)",
        checks::random,
    ),
    line("google-oauth-token", &["ya29."], r"\b(ya29\.[0-9A-Za-z_-]{60,})", checks::random),
    line(
        "openai-key",
        &["t3blbkfj"],
        r"\b(sk-[0-9A-Za-z_-]{20,200}T3BlbkFJ[0-9A-Za-z_-]{20,200})",
        checks::random,
    ),
    line(
        "anthropic-key",
        &["sk-ant-"],
        r"\b(sk-ant-[a-z]{3,10}[0-9]{2}-[0-9A-Za-z_-]{80,120})",
        checks::random,
    ),
    line("openrouter-key", &["sk-or-v1-"], r"\b(sk-or-v1-[0-9a-f]{64})\b", checks::random),
    line("groq-key", &["gsk_"], r"\b(gsk_[0-9A-Za-z]{52})\b", checks::random),
    line("xai-key", &["xai-"], r"\b(xai-[0-9A-Za-z]{80})\b", checks::random),
    line("perplexity-key", &["pplx-"], r"\b(pplx-[0-9A-Za-z]{48})\b", checks::random),
    line("replicate-token", &["r8_"], r"\b(r8_[0-9A-Za-z]{37})\b", checks::random),
    line("huggingface-token", &["hf_"], r"\b(hf_[0-9A-Za-z]{34,40})\b", checks::random),
    line("npm-token", &["npm_"], r"\b(npm_[0-9A-Za-z]{36})\b", checks::checksum),
    text(
        "npm-auth",
        &[":_authtoken", ":_password", "_auth"],
        r"(?i)(?:_authToken|:_password|\b_auth)\s*=\s*([0-9A-Za-z+/=_-]{16,})",
        checks::random,
    ),
    line(
        "pypi-token",
        &["pypi-ageichlwas5vcmc", "pypi-agendgvzdc5wexbplm9yzw"],
        r"\b(pypi-Ag(?:EIcHlwaS5vcmc|ENdGVzdC5weXBpLm9yZw)[0-9A-Za-z_-]{50,})",
        checks::shape,
    ),
    line("rubygems-key", &["rubygems_"], r"\b(rubygems_[0-9a-f]{48})\b", checks::random),
    line("crates-io-token", &["cio"], r"\b(cio[0-9A-Za-z]{32})\b", checks::random),
    line("nuget-key", &["oy2"], r"\b(oy2[a-z0-9]{43})\b", checks::random),
    line(
        "docker-token",
        &["dckr_pat_", "dckr_oat_"],
        r"\b(dckr_[po]at_[0-9A-Za-z_-]{27,40})",
        checks::random,
    ),
    line(
        "digitalocean-token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        r"\b(do[opr]_v1_[0-9a-f]{64})\b",
        checks::random,
    ),
    line("databricks-token", &["dapi"], r"\b(dapi[0-9a-f]{32}(?:-[0-9])?)\b", checks::random),
    line(
        "sendgrid-key",
        &["sg."],
        r"\b(SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43})(?:[^0-9A-Za-z_-]|$)",
        checks::random,
    ),
    text("twilio-key", &["twilio"], r"(?i)twilio[^\n]{0,60}\b((?-i:SK|AC)[0-9a-f]{32})\b", checks::random),
    text(
        "mailgun-key",
        &["mailgun"],
        r"(?i)mailgun[^\n]{0,60}\b((?:key-)?[0-9a-f]{32}(?:-[0-9a-f]{8}-[0-9a-f]{8})?)\b",
        checks::random,
    ),
    line("mailchimp-key", &["-us"], r"\b([0-9a-f]{32}-us[0-9]{1,2})\b", checks::random),
    line(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\b(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})\b",
        checks::random,
    ),
    line(
        "telegram-token",
        &[":aa"],
        r"\b([0-9]{8,10}:AA[0-9A-Za-z_-]{33})(?:[^0-9A-Za-z_-]|$)",
        checks::random,
    ),
    line(
        "discord-webhook",
        &["discord.com/api/webhooks", "discordapp.com/api/webhooks"],
        r"/api/webhooks/([0-9]{17,20}/[0-9A-Za-z_-]{60,})",
        checks::random,
    ),
    text(
        "discord-token",
        &["discord"],
        r"(?i)discord[^\n]{0,60}\b([MNO](?-i)[0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40})",
        checks::random,
    ),
    line(
        "linear-key",
        &["lin_api_", "lin_oauth_"],
        r"\b(lin_(?:api|oauth)_[0-9A-Za-z]{40,64})\b",
        checks::random,
    ),
    line("notion-token", &["ntn_"], r"\b(ntn_[0-9]{11}[0-9A-Za-z]{35})\b", checks::random),
    line("figma-token", &["figd_"], r"\b(figd_[0-9A-Za-z_-]{40})", checks::random),
    line("postman-key", &["pmak-"], r"\b(PMAK-[0-9a-f]{24}-[0-9a-f]{34})\b", checks::random),
    line("sentry-token", &["sntrys_", "sntryu_"], r"\b(sntry[su]_[0-9A-Za-z+/=_-]{60,})", checks::random),
    line(
        "grafana-token",
        &["glsa_", "glc_ey"],
        r"\b(glsa_[0-9A-Za-z]{32}_[0-9a-fA-F]{8}|glc_ey[0-9A-Za-z+/=]{32,})",
        checks::random,
    ),
    line(
        "newrelic-key",
        &["nrak-", "nriq-", "nrii-"],
        r"\b(NR(?:AK|IQ|II)-[0-9A-Za-z_-]{27,32})\b",
        checks::random,
    ),
    line("pulumi-token", &["pul-"], r"\b(pul-[0-9a-f]{40})\b", checks::random),
    line(
        "supabase-token",
        &["sbp_", "sb_secret_"],
        r"\b(sbp_[0-9a-f]{40}|sb_secret_[0-9A-Za-z_-]{31,})",
        checks::random,
    ),
    line(
        "planetscale-token",
        &["pscale_tkn_", "pscale_pw_"],
        r"\b(pscale_(?:tkn|pw)_[0-9A-Za-z_=.-]{32,64})",
        checks::random,
    ),
    line(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct."],
        r"\b(dp\.(?:pt|ct|st(?:\.[a-z0-9_-]{2,35})?)\.[0-9A-Za-z]{40,44})\b",
        checks::random,
    ),
    line("vault-token", &["hvs.", "hvb."], r"\b(hv[sb]\.[0-9A-Za-z_-]{24,})", checks::random),
    line(
        "terraform-token",
        &[".atlasv1."],
        r"\b([0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z=_-]{60,70})",
        checks::random,
    ),
    line("atlassian-token", &["atatt3", "atctt3"], r"\b(AT[AC]TT3[0-9A-Za-z_=-]{100,220})", checks::random),
    line("heroku-key", &["hrku-"], r"\b(HRKU-[0-9A-Za-z_-]{36,60})", checks::random),
    line(
        "square-token",
        &["sq0atp-", "sq0csp-"],
        r"\b(sq0(?:atp-[0-9A-Za-z_-]{22}|csp-[0-9A-Za-z_-]{43}))",
        checks::random,
    ),
    line("facebook-token", &["eaac", "eaag"], r"\b(EAA[CG][0-9A-Za-z]{90,250})\b", checks::random),
    line("airtable-token", &["pat"], r"\b(pat[0-9A-Za-z]{14}\.[0-9a-f]{64})\b", checks::random),
    line(
        "age-key",
        &["age-secret-key-1"],
        r"\b(AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})\b",
        checks::random,
    ),
    line("azure-storage-key", &["accountkey="], r"(?i)AccountKey=([0-9A-Za-z+/]{86}==)", checks::random),
    text(
        "azure-client-secret",
        &["8q~"],
        r"([0-9A-Za-z_~.]{3}[0-9]8Q~[0-9A-Za-z_~.-]{31,34})(?:[^0-9A-Za-z_~.-]|$)",
        checks::random,
    ),
    line(
        "web-token",
        &["eyj"],
        r"\b(eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{16,})",
        checks::web_token,
    ),
    Shape {
        kind: "private-key",
        keywords: &["private key"],
        pattern: r"(-----BEGIN (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----)(?:\s|\\r|\\n|[A-Za-z-]+:[^\n]{0,100}\n)*[0-9A-Za-z+/=]{40,}[\s0-9A-Za-z+/=\\]*",
        place: Where::Lines,
        check: checks::key_block,
    },
    text(
        "database-password",
        &[
            "postgres://",
            "postgresql://",
            "mysql://",
            "mariadb://",
            "mongodb://",
            "mongodb+srv://",
            "redis://",
            "rediss://",
            "amqp://",
            "amqps://",
            "mssql://",
            "sqlserver://",
            "clickhouse://",
            "ftp://",
            "https://",
            "http://",
        ],
        r#"(?i)\b(?:[a-z0-9+]{3,12})://[^\s:/@"'`<>]{0,60}:([^\s/@"'`<>$\{]{4,100})@[a-z0-9.\[\]:_-]{1,120}"#,
        checks::password_in_url,
    ),
    text(
        "assigned-secret",
        &[
            "password",
            "passwd",
            "secret",
            "token",
            "api_key",
            "apikey",
            "api-key",
            "access_key",
            "accesskey",
            "access-key",
            "private_key",
            "client_key",
            "credential",
        ],
        r#"(?i)[a-z0-9_.-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private_key|client_key|credential)[a-z0-9_.-]{0,30}["'\]]{0,2}\s{0,5}(?:=|:|:=|=>|==|,)\s{0,5}[bru]{0,2}["'`]([^"'`\s]{12,200})["'`]"#,
        checks::assigned,
    ),
    text(
        "assigned-variable",
        &["password", "passwd", "secret", "token", "api_key", "apikey", "access_key"],
        r#"(?m)^\s*(?:-\s+)?(?:export\s+|set\s+|ENV\s+)?[A-Z][A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY)[A-Z0-9_]*\s?[=:]\s?([^\s"'`$#<>(){}]{12,200})\s*$"#,
        checks::assigned,
    ),
];
