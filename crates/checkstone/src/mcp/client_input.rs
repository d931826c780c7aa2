//! What the client writes to us. Its end is the client's end, and so that of every child that works for it: nobody would read
//! their answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::tool_calls::ToolCalls;

#[derive(Debug)]
pub(super) struct ClientInput<Input> {
    input: Input,
    calls: ToolCalls,
}

impl<Input> ClientInput<Input> {
    pub(super) fn new(input: Input, calls: ToolCalls) -> Self {
        Self { input, calls }
    }
}

impl<Input: AsyncRead + Unpin> AsyncRead for ClientInput<Input> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(context, buffer);
        let is_over = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_over {
            self.calls.interrupt();
        }
        read
    }
}
