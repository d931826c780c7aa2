//! The table: what well-known secrets look like, wherever they stand.

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
    /// The group that matches is the secret; without one, all of it.
    pub(super) pattern: &'static str,
    pub(super) place: Where,
    pub(super) check: Check,
}

/// A row for each: its kind, where it is looked for, what checks it, its keywords, its pattern.
macro_rules! shapes {
    ($($kind:literal: $place:ident $check:ident [$($keyword:literal),+] $pattern:literal)*) => {
        pub(super) const SHAPES: &[Shape] = &[$(Shape {
            kind: $kind,
            keywords: &[$($keyword),+],
            pattern: $pattern,
            place: Where::$place,
            check: checks::$check,
        }),*];
    };
}

shapes! {
    "aws-access-key": Line random ["akia", "asia", "abia", "acca"] r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b"
    "aws-secret-key": Text random ["secret_access_key", "secretaccesskey", "aws_secret", "awssecret",
        "secret-access-key"]
        r#"(?i)secret[_-]?(?:access[_-]?)?key["']?\s*(?:=|:|=>|,)\s*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#
    "github-token": Line checksum ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"] r"\b(gh[pousr]_[0-9A-Za-z]{36})\b"
    "github-fine-grained-token": Line random ["github_pat_"] r"\b(github_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59})\b"
    "gitlab-token": Line random ["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glagent-", "glimt-",
        "gloas-", "glsoat-"]
        r"\b(gl(?:pat|dt|rt|ptt|cbt|ft|agent|imt|oas|soat)-[0-9A-Za-z_-]{20,64})"
    "slack-token": Line random ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xapp-"]
        r"\b((?:xox[abprs]|xoxe(?:\.xox[bp])?|xapp)-[0-9A-Za-z-]{20,250})"
    "slack-webhook": Line random ["hooks.slack.com"]
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([0-9A-Za-z+/]{40,60})"
    "stripe-key": Line random ["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"]
        r"\b((?:(?:sk|rk)_(?:live|test)|whsec)_[0-9A-Za-z]{24,250})\b"
    "google-api-key": Line random ["aiza"] r"\b(AIza[0-9A-Za-z_-]{35})(?:[^0-9A-Za-z_-]|$)"
    "google-oauth-secret": Line random ["gocspx-"] r"\b(GOCSPX-[0-9A-Za-z_-]{28})(?:[^0-9A-Za-z_-]|$)"
    "google-oauth-token": Line random ["ya29."] r"\b(ya29\.[0-9A-Za-z_-]{60,})"
    "openai-key": Line random ["t3blbkfj"] r"\b(sk-[0-9A-Za-z_-]{20,200}T3BlbkFJ[0-9A-Za-z_-]{20,200})"
    "anthropic-key": Line random ["sk-ant-"] r"\b(sk-ant-[a-z]{3,10}[0-9]{2}-[0-9A-Za-z_-]{80,120})"
    "openrouter-key": Line random ["sk-or-v1-"] r"\b(sk-or-v1-[0-9a-f]{64})\b"
    "groq-key": Line random ["gsk_"] r"\b(gsk_[0-9A-Za-z]{52})\b"
    "xai-key": Line random ["xai-"] r"\b(xai-[0-9A-Za-z]{80})\b"
    "perplexity-key": Line random ["pplx-"] r"\b(pplx-[0-9A-Za-z]{48})\b"
    "replicate-token": Line random ["r8_"] r"\b(r8_[0-9A-Za-z]{37})\b"
    "huggingface-token": Line random ["hf_"] r"\b(hf_[0-9A-Za-z]{34,40})\b"
    "npm-token": Line checksum ["npm_"] r"\b(npm_[0-9A-Za-z]{36})\b"
    "npm-auth": Text random [":_authtoken", ":_password", "_auth"]
        r"(?i)(?:_authToken|:_password|\b_auth)\s*=\s*([0-9A-Za-z+/=_-]{16,})"
    "pypi-token": Line shape ["pypi-ageichlwas5vcmc", "pypi-agendgvzdc5wexbplm9yzw"]
        r"\b(pypi-Ag(?:EIcHlwaS5vcmc|ENdGVzdC5weXBpLm9yZw)[0-9A-Za-z_-]{50,})"
    "rubygems-key": Line random ["rubygems_"] r"\b(rubygems_[0-9a-f]{48})\b"
    "crates-io-token": Line random ["cio"] r"\b(cio[0-9A-Za-z]{32})\b"
    "nuget-key": Line random ["oy2"] r"\b(oy2[a-z0-9]{43})\b"
    "docker-token": Line random ["dckr_pat_", "dckr_oat_"] r"\b(dckr_[po]at_[0-9A-Za-z_-]{27,40})"
    "digitalocean-token": Line random ["dop_v1_", "doo_v1_", "dor_v1_"] r"\b(do[opr]_v1_[0-9a-f]{64})\b"
    "databricks-token": Line random ["dapi"] r"\b(dapi[0-9a-f]{32}(?:-[0-9])?)\b"
    "sendgrid-key": Line random ["sg."] r"\b(SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43})(?:[^0-9A-Za-z_-]|$)"
    "twilio-key": Text random ["twilio"] r"(?i)twilio[^\n]{0,60}\b((?-i:SK|AC)[0-9a-f]{32})\b"
    "mailgun-key": Text random ["mailgun"]
        r"(?i)mailgun[^\n]{0,60}\b((?:key-)?[0-9a-f]{32}(?:-[0-9a-f]{8}-[0-9a-f]{8})?)\b"
    "mailchimp-key": Line random ["-us"] r"\b([0-9a-f]{32}-us[0-9]{1,2})\b"
    "shopify-token": Line random ["shpat_", "shpca_", "shppa_", "shpss_"] r"\b(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})\b"
    "telegram-token": Line random [":aa"] r"\b([0-9]{8,10}:AA[0-9A-Za-z_-]{33})(?:[^0-9A-Za-z_-]|$)"
    "discord-webhook": Line random ["discord.com/api/webhooks", "discordapp.com/api/webhooks"]
        r"/api/webhooks/([0-9]{17,20}/[0-9A-Za-z_-]{60,})"
    "discord-token": Text random ["discord"]
        r"(?i)discord[^\n]{0,60}\b([MNO](?-i)[0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40})"
    "linear-key": Line random ["lin_api_", "lin_oauth_"] r"\b(lin_(?:api|oauth)_[0-9A-Za-z]{40,64})\b"
    "notion-token": Line random ["ntn_"] r"\b(ntn_[0-9]{11}[0-9A-Za-z]{35})\b"
    "figma-token": Line random ["figd_"] r"\b(figd_[0-9A-Za-z_-]{40})"
    "postman-key": Line random ["pmak-"] r"\b(PMAK-[0-9a-f]{24}-[0-9a-f]{34})\b"
    "sentry-token": Line random ["sntrys_", "sntryu_"] r"\b(sntry[su]_[0-9A-Za-z+/=_-]{60,})"
    "grafana-token": Line random ["glsa_", "glc_ey"]
        r"\b(glsa_[0-9A-Za-z]{32}_[0-9a-fA-F]{8}|glc_ey[0-9A-Za-z+/=]{32,})"
    "newrelic-key": Line random ["nrak-", "nriq-", "nrii-"] r"\b(NR(?:AK|IQ|II)-[0-9A-Za-z_-]{27,32})\b"
    "pulumi-token": Line random ["pul-"] r"\b(pul-[0-9a-f]{40})\b"
    "supabase-token": Line random ["sbp_", "sb_secret_"] r"\b(sbp_[0-9a-f]{40}|sb_secret_[0-9A-Za-z_-]{31,})"
    "planetscale-token": Line random ["pscale_tkn_", "pscale_pw_"] r"\b(pscale_(?:tkn|pw)_[0-9A-Za-z_=.-]{32,64})"
    "doppler-token": Line random ["dp.pt.", "dp.st.", "dp.ct."]
        r"\b(dp\.(?:pt|ct|st(?:\.[a-z0-9_-]{2,35})?)\.[0-9A-Za-z]{40,44})\b"
    "vault-token": Line random ["hvs.", "hvb."] r"\b(hv[sb]\.[0-9A-Za-z_-]{24,})"
    "terraform-token": Line random [".atlasv1."] r"\b([0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z=_-]{60,70})"
    "atlassian-token": Line random ["atatt3", "atctt3"] r"\b(AT[AC]TT3[0-9A-Za-z_=-]{100,220})"
    "heroku-key": Line random ["hrku-"] r"\b(HRKU-[0-9A-Za-z_-]{36,60})"
    "square-token": Line random ["sq0atp-", "sq0csp-"] r"\b(sq0(?:atp-[0-9A-Za-z_-]{22}|csp-[0-9A-Za-z_-]{43}))"
    "facebook-token": Line random ["eaac", "eaag"] r"\b(EAA[CG][0-9A-Za-z]{90,250})\b"
    "airtable-token": Line random ["pat"] r"\b(pat[0-9A-Za-z]{14}\.[0-9a-f]{64})\b"
    "age-key": Line random ["age-secret-key-1"] r"\b(AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})\b"
    "azure-storage-key": Line random ["accountkey="] r"(?i)AccountKey=([0-9A-Za-z+/]{86}==)"
    "azure-client-secret": Text random ["q~"]
        r"([0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34})(?:[^0-9A-Za-z_~.-]|$)"
    "web-token": Line web_token ["eyj"] r"\b(eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{16,})"
    "private-key": Lines key_block ["private key"]
        r"(-----BEGIN (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----)(?:\s|\\r|\\n|[A-Za-z-]+:[^\n]{0,100}\n)*[0-9A-Za-z+/=]{40,}[\s0-9A-Za-z+/=\\]*"
    "database-password": Text password_in_url ["postgres://", "postgresql://", "mysql://", "mariadb://",
        "mongodb://", "mongodb+srv://", "redis://", "rediss://", "amqp://", "amqps://", "mssql://", "sqlserver://",
        "clickhouse://", "ftp://", "https://", "http://"]
        r#"(?i)\b(?:[a-z0-9+]{3,12})://[^\s:/@"'`<>]{0,60}:([^\s/@"'`<>$\{]{4,100})@[a-z0-9.\[\]:_-]{1,120}"#
    "url-token": Text user_in_url ["https://", "http://"]
        r#"(?i)\bhttps?://([^\s:/@"'`<>$\{\}]{20,200})@[a-z0-9.-]{3,120}"#
    "command-password": Text given ["mysql", "mariadb", "sshpass", "curl", "redis-cli", "ldap", "mosquitto", "login",
        " -u"]
        r#"(?x)
        \bcurl\b[^\n|;&]{0,200}\s(?:-u|--user)[\x20=]?'[^\s:']{1,60}:([^\s']{6,100})'
        | (?:
            \b(?:mysql[a-z]*|mariadb[a-z-]*|sshpass)\b[^\n|;&]{0,200}\s-p\x20?
            | \b(?:redis-cli)\b[^\n|;&]{0,200}\s-a\x20?
            | \bldap[a-z]+\b[^\n|;&]{0,200}\s-w\x20?
            | \bmosquitto_[a-z]+\b[^\n|;&]{0,200}\s-P\x20?
            # Whoever says who they are with -u says their password with -p.
            | (?:\blogin\b|\s-u[\x20=]?[^\s]{1,60})\x20(?:[^\n|;&]{0,200}\s)?-p[\x20=]?
            | \bcurl\b[^\n|;&]{0,200}\s(?:-u|--user)[\x20=]?["']?[^\s:"']{1,60}:
        )
        (?: '([^\s']{6,100})' | "([^\s"$`]{6,100})" | ["']?([^\s"'`$]{6,100}) )"#
    "sql-password": Text given ["identified"]
        r#"(?i)\bidentified\s{1,8}(?:with\s{1,8}\S{1,60}\s{1,8})?(?:by|as)\s{1,8}(?:password\s{1,8})?["']([^\s"']{6,100})["']"#
}
