//! Rounds and branches that go on at once, judged in their order as the interpreter judges them: where one fails, those before it are brought to
//! their end, and those behind it go no further.

use super::context::Context;
use super::stop::Stop;
use std::pin::Pin;
use std::task::Poll;

/// A branch of a step: it keeps what it finds where the step can see it.
pub type Branch<'b> = Pin<Box<dyn Future<Output = Result<(), Stop>> + Send + 'b>>;

impl Context {
    /// The rounds of the loop `id` over `items`, `limit` of them at once.
    ///
    /// # Errors
    /// The failure of the first round that failed, in the order of the list.
    pub async fn each_at_once<'i, I, F>(
        &self,
        id: &str,
        limit: u32,
        items: &'i [I],
        round: impl Fn(Context, &'i I) -> F,
    ) -> Result<(), Stop>
    where
        F: Future<Output = Result<(), Stop>>,
    {
        self.rounds_at_once(id, limit, items, round).await.map(drop)
    }

    /// As [`Context::each_at_once`]; what the rounds give, as far as they give something, in the order of the list.
    ///
    /// # Errors
    /// As [`Context::each_at_once`].
    pub async fn gather_at_once<'i, I, T, F>(
        &self,
        id: &str,
        limit: u32,
        items: &'i [I],
        round: impl Fn(Context, &'i I) -> F,
    ) -> Result<Vec<T>, Stop>
    where
        F: Future<Output = Result<Option<T>, Stop>>,
    {
        Ok(self.rounds_at_once(id, limit, items, round).await?.into_iter().flatten().collect())
    }

    async fn rounds_at_once<'i, I, T, F>(
        &self,
        id: &str,
        limit: u32,
        items: &'i [I],
        round: impl Fn(Context, &'i I) -> F,
    ) -> Result<Vec<T>, Stop>
    where
        F: Future<Output = Result<T, Stop>>,
    {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let rounds = self.each(id, items).map(|(context, item)| round(context, item));
        in_order(rounds.map(Box::pin), limit).await
    }

    /// All branches of a step at once.
    ///
    /// # Errors
    /// The failure of the first branch that failed, in their order.
    pub async fn parallel<const N: usize>(&self, branches: [Branch<'_>; N]) -> Result<(), Stop> {
        in_order(branches.into_iter(), N).await.map(drop)
    }
}

/// One of what goes on at once.
enum Place<F, T> {
    UnderWay(F),
    Done(T),
    Failed(Stop),
}

/// What all of `begun` give, in their order; each is begun when fewer than `limit` before it are under way.
async fn in_order<T, F>(begun: impl Iterator<Item = F>, limit: usize) -> Result<Vec<T>, Stop>
where
    F: Future<Output = Result<T, Stop>> + Unpin,
{
    let mut begun = begun;
    let mut places: Vec<Place<F, T>> = Vec::new();
    // Those before it are done.
    let mut first = 0;
    std::future::poll_fn(|cx| {
        let (mut index, mut under_way) = (first, 0_usize);
        loop {
            if index == places.len() {
                let Some(next) = begun.next() else { break };
                places.push(Place::UnderWay(next));
            }
            let Some(place) = places.get_mut(index) else { break };
            if let Place::UnderWay(future) = place
                && let Poll::Ready(ended) = Pin::new(future).poll(cx)
            {
                *place = ended.map_or_else(Place::Failed, Place::Done);
            }
            match place {
                Place::Done(_) => first += usize::from(index == first),
                Place::UnderWay(_) => under_way += 1,
                // Those before it may still fail, and then their failure counts.
                Place::Failed(_) if under_way > 0 => return Poll::Pending,
                Place::Failed(stop) => return Poll::Ready(Err(stop.clone())),
            }
            if under_way >= limit.max(1) {
                return Poll::Pending;
            }
            index += 1;
        }
        if under_way > 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
    })
    .await?;
    let done = |place| match place {
        Place::Done(value) => Some(value),
        Place::UnderWay(_) | Place::Failed(_) => None,
    };
    Ok(places.into_iter().filter_map(done).collect())
}

#[cfg(test)]
mod tests;
