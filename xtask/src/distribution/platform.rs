//! The machines that packages are made for, one row each: what npm, PyPI and Debian call them.

/// One target of the compiler, and its names elsewhere.
#[derive(Debug)]
pub(crate) struct Platform {
    /// What the compiler calls it.
    pub(crate) target: &'static str,
    /// As Node.js names them.
    pub(crate) os: &'static str,
    pub(crate) processor: &'static str,
    /// The C library by npm's name, where that makes a difference.
    pub(crate) libc: Option<&'static str>,
    /// The tags of a wheel.
    pub(crate) wheel: &'static [&'static str],
    /// The architecture, where there is a Debian package.
    pub(crate) debian: Option<&'static str>,
    /// The C library that zig links against, where it is not the newest.
    pub(crate) oldest_glibc: Option<&'static str>,
}

pub(crate) const PLATFORMS: [Platform; 6] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        os: "linux",
        processor: "x64",
        libc: Some("glibc"),
        wheel: &["manylinux_2_17_x86_64", "manylinux2014_x86_64"],
        debian: Some("amd64"),
        oldest_glibc: Some("2.17"),
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        os: "linux",
        processor: "arm64",
        libc: Some("glibc"),
        wheel: &["manylinux_2_17_aarch64", "manylinux2014_aarch64"],
        debian: Some("arm64"),
        oldest_glibc: Some("2.17"),
    },
    Platform {
        target: "x86_64-unknown-linux-musl",
        os: "linux",
        processor: "x64",
        libc: Some("musl"),
        wheel: &["musllinux_1_1_x86_64"],
        debian: None,
        oldest_glibc: None,
    },
    Platform {
        target: "aarch64-unknown-linux-musl",
        os: "linux",
        processor: "arm64",
        libc: Some("musl"),
        wheel: &["musllinux_1_1_aarch64"],
        debian: None,
        oldest_glibc: None,
    },
    Platform {
        target: "x86_64-apple-darwin",
        os: "darwin",
        processor: "x64",
        libc: None,
        wheel: &["macosx_10_12_x86_64"],
        debian: None,
        oldest_glibc: None,
    },
    Platform {
        target: "aarch64-apple-darwin",
        os: "darwin",
        processor: "arm64",
        libc: None,
        wheel: &["macosx_11_0_arm64"],
        debian: None,
        oldest_glibc: None,
    },
];

impl Platform {
    pub(crate) fn of_target(target: &str) -> Result<&'static Self, String> {
        PLATFORMS.iter().find(|platform| platform.target == target).ok_or_else(|| {
            let known: Vec<&str> = PLATFORMS.iter().map(|platform| platform.target).collect();
            format!("no packages are made for `{target}`; known targets: {}", known.join(", "))
        })
    }

    /// The last part of its package's name at npm.
    pub(crate) fn npm_name(&self) -> String {
        let musl = if self.libc == Some("musl") { "-musl" } else { "" };
        format!("{}-{}{musl}", self.os, self.processor)
    }
}
