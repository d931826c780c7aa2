//! That the clients talk to the scripted model alone is proven by where they run: in a network that has nothing else.

/// Told by `cargo xtask test` where it could make such a network.
#[test]
fn there_is_no_network_but_the_loopback_device() {
    if std::env::var_os("CHECKSTONE_TEST_ISOLATED").is_none() {
        return;
    }
    let devices = fs_err::read_to_string("/proc/thread-self/net/dev").unwrap();
    let names: Vec<&str> = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert_eq!(names, ["lo"]);
    let routes = fs_err::read_to_string("/proc/thread-self/net/route").unwrap();
    assert_eq!(routes.lines().count(), 1, "a heading and no route: {routes}");
}
