//! Bytes of any kind → ingest → compile → print → read: nothing panics, everything ends, what is printed reads as what it was, and the
//! same bytes give the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ltc_compiler::{Options, compile, ingest};
use ltc_workflow::yaml;

fuzz_target!(|bytes: &[u8]| {
    let Ok(ingested) = ingest::read("fuzz", bytes, None) else { return };
    let compilation = compile(&ingested.traces, &Options { name: None, partial: true });
    let Some(workflow) = &compilation.workflow else { return };
    let text = yaml::print(workflow);
    let read = yaml::read(&text);
    assert_eq!(read.as_ref(), Ok(workflow), "what is printed reads as another workflow:\n{text}");
    let replay = compilation.diagnostics.iter().find(|d| d.code == "replay-differs");
    assert!(replay.is_none(), "it does something else than was recorded: {replay:?}\n{text}");
    let again = compile(&ingested.traces, &Options { name: None, partial: true });
    assert_eq!(again.diagnostics, compilation.diagnostics);
    assert_eq!(again.explanation.to_text(), compilation.explanation.to_text());
});
