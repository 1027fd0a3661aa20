//! The workflow in the world of its recording: it makes the recorded calls, and gives the recorded output.

#[test]
fn it_does_what_was_recorded() -> Result<(), String> {
    ltc_runtime::native::replay(&{{ library }}::workflow(), include_str!("recording.json"))
}
