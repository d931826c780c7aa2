//! What must hold for any bytes that a client sends to the hook.

use std::path::PathBuf;

use agents::{Answer, Event, HoldForm, Notification, Payload};
use transcript::Agent;

/// Does with the bytes, read as each client's, everything that a caller does with a payload.
pub fn check(bytes: &[u8]) {
    for agent in Agent::ALL {
        if let Ok(Some(notification)) = Notification::parse(agent, bytes) {
            assert!(!notification.is_shown_on(""));
            assert_eq!(notification.into_stop(agent, PathBuf::new()).event, Event::Stop);
        }
        let Ok(payload) = Payload::parse(agent, bytes) else { continue };
        assert_eq!(payload.agent, agent);
        assert!(payload.prompt.as_deref().unwrap_or_default().len() <= 16 * 1024);
        assert!(!(payload.opens_turn() && payload.is_own_text()));
        let _ = payload.is_planning();
        let _ = payload.transcript_is_complete(payload.prompt.as_deref());
        let hold = Answer::Hold {
            to_agent: payload.prompt.clone().unwrap_or_default(),
            to_person: payload.last_text.clone(),
        };
        for form in [HoldForm::Block, HoldForm::Context] {
            let Some(rendered) = hold.render(agent, &payload.event, form) else { continue };
            assert!(serde_json::from_str::<serde_json::Value>(&rendered).is_ok());
            assert!(!rendered.contains('\n'));
        }
    }
}
