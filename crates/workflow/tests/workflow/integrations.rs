mod branch;
mod linear;
mod preview;
mod server;
mod settings;
mod webhook;
