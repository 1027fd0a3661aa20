//! Calls that were under way at once → turns, where a recording has times but no messages.

use crate::trace::Call;

/// Numbers the turns by time, if no call has one and all have their times: a call belongs to the turn before it as long as every call of
/// that turn is still under way when it starts.
pub(crate) fn fill(calls: &mut [Call]) {
    if calls.iter().any(|c| c.turn.is_some() || c.started_at.is_none() || c.ended_at.is_none()) {
        return;
    }
    let mut order: Vec<&mut Call> = calls.iter_mut().collect();
    order.sort_by_key(|c| c.started_at);
    let (mut turn, mut first_end) = (0_u32, None);
    for call in order {
        if first_end.is_none_or(|end| call.started_at >= end) {
            (turn, first_end) = (turn.saturating_add(1), Some(call.ended_at));
        }
        first_end = first_end.min(Some(call.ended_at));
        call.turn = Some(turn);
    }
}
