//! The sockets of one kernel: a private folder with the connection file and Unix sockets, signed messages out, verified
//! messages in. Contents stay the JSON that the kernel sent: a notebook has to keep what we do not know.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::{FileError, Lock, LockError, regular_file};
use jupyter_protocol::connection_info::{ConnectionInfo, Transport};
use jupyter_protocol::{
    InterruptRequest, JupyterMessage, JupyterMessageContent, KernelInfoRequest, ShutdownRequest,
};
use jupyter_zmq_client::{
    ClientControlConnection, ClientIoPubConnection, ClientShellConnection, Connection, RawMessage,
    RuntimeError, create_client_control_connection, create_client_iopub_connection,
    create_client_shell_connection_with_identity, peer_identity_for_session,
};
use serde_json::Value;
use zeromq::SocketRecv;

use crate::json::text;

/// The longest path that a Unix socket can have, without the end that is put behind ours.
const LONGEST_SOCKET_PREFIX: usize = 100;

#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot lock the folder of the kernel's sockets")]
    Lock(#[source] LockError),
    #[error("cannot draw a random key for the kernel")]
    Key(#[source] std::io::Error),
    #[error("the kernel cannot be reached")]
    Protocol(#[from] RuntimeError),
    #[error("the connection to the kernel broke")]
    Socket(#[from] zeromq::ZmqError),
}

/// How the folders' names begin.
const PREFIX: &str = "checkstone-kernel-";

/// Within so much time after it was made, a folder is locked and has its connection file.
const NEW: Duration = Duration::from_secs(60);

/// Where a kernel listens. The folder goes with it.
#[derive(Debug)]
pub(super) struct ConnectionFolder {
    folder: tempfile::TempDir,
    /// Says to others that the folder is in use.
    _lock: Lock,
    info: ConnectionInfo,
}

impl ConnectionFolder {
    /// In a new folder below `scratch` that only we can enter; below `/tmp` where the path would be too long for a socket.
    pub(super) fn new(scratch: &Path) -> Result<Self, ChannelError> {
        let made_in = |path: &Path| {
            remove_lost(path);
            tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(std::fs::Permissions::from_mode(0o700))
                .tempdir_in(path)
                .map_err(FileError::failed("make a private folder for the kernel's sockets in", path))
        };
        let mut folder = made_in(scratch)?;
        if folder.path().as_os_str().len() > LONGEST_SOCKET_PREFIX {
            folder = made_in(Path::new("/tmp"))?;
        }
        let info = ConnectionInfo {
            ip: folder.path().join("socket").to_string_lossy().into_owned(),
            transport: Transport::IPC,
            shell_port: 1,
            iopub_port: 2,
            stdin_port: 3,
            control_port: 4,
            hb_port: 5,
            key: files::random_key().map_err(ChannelError::Key)?,
            signature_scheme: "hmac-sha256".to_owned(),
            kernel_name: Some("python3".to_owned()),
        };
        let _lock = Lock::acquire(&folder.path().join(LOCK), Duration::ZERO).map_err(ChannelError::Lock)?;
        let place = Self { folder, _lock, info };
        let path = place.connection_file();
        let failed = FileError::failed("write the kernel's connection file", &path);
        let text = serde_json::to_vec(&place.info).map_err(|error| failed(error.into()))?;
        regular_file::append_to_new(&path, 0o600)?.write_all(&text).map_err(failed)?;
        Ok(place)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn connection_file(&self) -> PathBuf {
        self.folder.path().join(CONNECTION_FILE)
    }

    /// Whether the kernel listens on all of its sockets; the last one is made last.
    pub(super) fn is_ready(&self) -> bool {
        (1..=5).all(|port| PathBuf::from(format!("{}-{port}", self.info.ip)).exists())
    }

    pub(super) async fn connect(&self) -> Result<Channels, ChannelError> {
        let session: String = files::random_key().map_err(ChannelError::Key)?.chars().take(32).collect();
        Ok(Channels {
            iopub: create_client_iopub_connection(&self.info, "", &session).await?,
            shell: create_client_shell_connection_with_identity(
                &self.info,
                &session,
                peer_identity_for_session(&session)?,
            )
            .await?,
            control: create_client_control_connection(&self.info, &session).await?,
        })
    }
}

const LOCK: &str = "lock";
const CONNECTION_FILE: &str = "connection.json";

/// Removes the folders of those who were killed: ours, and used by nobody. One without a connection file may be about to be locked.
fn remove_lost(scratch: &Path) {
    for entry in fs_err::read_dir(scratch).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        let is_ours = path.symlink_metadata().is_ok_and(|folder| {
            folder.is_dir()
                && folder.uid() == rustix::process::geteuid().as_raw()
                && (path.join(CONNECTION_FILE).is_file()
                    || folder.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > NEW)))
        });
        if is_ours && Lock::acquire(&path.join(LOCK), Duration::ZERO).is_ok() {
            let _ = fs_err::remove_dir_all(path);
        }
    }
}

pub(super) struct Channels {
    pub(super) iopub: ClientIoPubConnection,
    pub(super) shell: ClientShellConnection,
    control: ClientControlConnection,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Channels")
    }
}

impl Channels {
    /// Sends a request; its id is how the answers are known.
    pub(super) async fn request(
        &mut self,
        content: impl Into<JupyterMessageContent>,
    ) -> Result<String, ChannelError> {
        let message = JupyterMessage::new(content, None);
        let id = message.header.msg_id.clone();
        self.shell.send(message).await?;
        Ok(id)
    }

    pub(super) async fn ask_info(&mut self) -> Result<String, ChannelError> {
        self.request(KernelInfoRequest {}).await
    }

    pub(super) async fn interrupt(&mut self) -> Result<(), ChannelError> {
        Ok(self.control.send(JupyterMessage::new(InterruptRequest {}, None)).await?)
    }

    pub(super) async fn shut_down(&mut self) -> Result<(), ChannelError> {
        Ok(self.control.send(JupyterMessage::new(ShutdownRequest { restart: false }, None)).await?)
    }
}

/// A message of the kernel, verified.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) id: String,
    pub(super) kind: String,
    /// The request that it belongs to.
    pub(super) parent: String,
    pub(super) content: Value,
}

/// The next message. One that is not signed with our key is not from the kernel, and is passed over.
pub(super) async fn receive<S: SocketRecv>(connection: &mut Connection<S>) -> Result<Incoming, ChannelError> {
    loop {
        let multipart = connection.socket.recv().await?;
        let Ok(message) = RawMessage::from_multipart(multipart, &connection.mac) else { continue };
        let part = |index: usize| message.jparts.get(index).map(|part| json(part)).unwrap_or_default();
        let (header, parent) = (part(0), part(1));
        return Ok(Incoming {
            id: text(&header, "msg_id").to_owned(),
            kind: text(&header, "msg_type").to_owned(),
            parent: text(&parent, "msg_id").to_owned(),
            content: part(3),
        });
    }
}

/// Python may send text that is no Unicode; it is kept as far as it can be.
fn json(bytes: &[u8]) -> Value {
    match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(bytes)).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a killed process left goes at once; what is in use, about to be used, or not a folder of ours stays.
    #[test]
    fn only_folders_without_an_owner_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = |name: &str, files: &[&str]| {
            let path = scratch.path().join(name);
            fs_err::create_dir(&path).unwrap();
            files.iter().for_each(|file| fs_err::write(path.join(file), "").unwrap());
            path
        };
        folder("checkstone-kernel-killed", &[LOCK, CONNECTION_FILE]);
        folder("checkstone-kernel-beginning", &[LOCK]);
        folder("somebody-else", &[LOCK, CONNECTION_FILE]);
        let used = folder("checkstone-kernel-used", &[LOCK, CONNECTION_FILE]);
        let lock = Lock::acquire(&used.join(LOCK), Duration::ZERO).unwrap();
        remove_lost(scratch.path());
        drop(lock);
        let entries = fs_err::read_dir(scratch.path()).unwrap();
        let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["checkstone-kernel-beginning", "checkstone-kernel-used", "somebody-else"]);
    }
}
