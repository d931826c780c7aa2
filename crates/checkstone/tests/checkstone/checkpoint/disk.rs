//! Disks of the tests: images with a file system of their own.

use std::fs;
use std::path::{Path, PathBuf};

use sandbox::wait_for;

use super::project::{Mounted, succeeds};

/// An image in a folder of its own, mounted outside of any repository: the build's folder lies in ours, whose root would be
/// taken for the project's.
pub(super) struct Disk {
    options: &'static str,
    number: usize,
    mounted: Option<Mounted>,
    folder: tempfile::TempDir,
    place: tempfile::TempDir,
}

impl Disk {
    fn image(&self) -> PathBuf {
        self.folder.path().join(format!("image-{}", self.number))
    }

    pub(super) fn place(&self) -> PathBuf {
        self.place.path().to_owned()
    }

    fn mount(&mut self) -> bool {
        let mounted = succeeds(
            "mount",
            &["-o", self.options, self.image().to_str().unwrap(), self.place().to_str().unwrap()],
        );
        self.mounted = mounted.then(|| Mounted(self.place()));
        mounted
    }

    /// What is on the disk now becomes the disk, and all that was only in memory is gone.
    pub(super) fn cut(&mut self) {
        let copy = self.folder.path().join(format!("image-{}", self.number + 1));
        let (from, to) = (self.image(), copy.to_str().unwrap());
        assert!(succeeds("cp", &["--sparse=always", from.to_str().unwrap(), to]));
        // Taking it apart writes the rest to the old image, which nobody looks at again.
        self.mounted = None;
        wait_until_free(&from);
        fs::remove_file(from).unwrap();
        self.number += 1;
        assert!(self.mount(), "the file system does not mount after cut {}", self.number);
    }
}

/// Other mount namespaces may hold on to a mount for a moment, and a file system does not like to see its copy meanwhile.
fn wait_until_free(image: &Path) {
    let name = image.to_string_lossy();
    let held = || {
        let devices = fs::read_dir("/sys/block").unwrap().flatten();
        let mut images =
            devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
        images.any(|held| held.trim_end() == name)
    };
    wait_for("the disk to be let go", || !held());
}

/// An empty disk, mounted; none where this machine does not give one.
pub(super) fn new_disk(make: &str, options: &[&str], megabytes: u64) -> Option<Disk> {
    let mut disk = Disk {
        folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        place: tempfile::tempdir().unwrap(),
        options: if make == "mkfs.xfs" { "loop,nouuid" } else { "loop" },
        number: 0,
        mounted: None,
    };
    fs::File::create(disk.image()).unwrap().set_len(megabytes << 20).unwrap();
    let image = disk.image();
    let made = rustix::process::geteuid().is_root()
        && succeeds(make, &[options, &[image.to_str().unwrap()]].concat());
    if !made || !disk.mount() {
        println!("no root, or no {make}, or the kernel does not mount it: left out");
        return None;
    }
    Some(disk)
}
