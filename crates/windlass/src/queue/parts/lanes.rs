//! Elements in lanes, one for each key: the lanes take turns, and each is first in, first out.
//!
//! Two orders choose the lane whose first element is next: the [arrival](Order::Arrival) of that
//! element, or the lane's [share](Order::Share). A lane with as many running elements as the limit
//! is passed over.
//!
//! Shares are start-time fair queueing. Virtual time is the start time of the last element that left.
//! An element starts at the later of virtual time and the *finish time* of its lane, and each element
//! moves the finish time by a cost in inverse proportion to the weight. The least start time is next.
//! A lane that was idle starts at virtual time, so it gains no credit; one that empties its lane after
//! each element keeps its finish time, so it loses no debt. Only the first element of a lane has a
//! start time, so a weight that is changed counts from the next element on.
//!
//! A lane exists while it has queued or running elements, or a finish time that virtual time has not
//! reached. When nothing is queued any more virtual time passes all of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Arc, Weak};

use super::blocking::Blocking;
use super::sequence::retain_by_verdicts;
use super::shrink::Shrink;
use crate::queue::discipline::Discipline;
use crate::unwind::{catch, discard, discard_payload};

/// The cost of an element of a lane with weight one. Larger weights divide it, so up to about a
/// thousand they are exact to a thousandth, and virtual time lasts for 2^44 elements.
const COST: u64 = 1 << 20;

/// Fewer keys than this keep the memory of their index.
const MIN_INDEX: usize = 64;

/// What a key has to be: cheap to clone, as it is cloned for each new lane.
pub(crate) trait Key: Eq + Hash + Clone + Send + 'static {}

impl<K: Eq + Hash + Clone + Send + 'static> Key for K {}

/// A function that returns the key of an element.
pub(crate) type KeyOf<T, K> = Arc<dyn Fn(&T) -> K + Send + Sync>;

/// A function that adds a guard to an element that leaves; the guard is dropped when the element has
/// ended.
pub(crate) type AddGuard<T, K> = fn(T, Running<T, K>) -> T;

/// How the lane is chosen whose first element is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The element that came first.
    Arrival,
    /// The lane that is furthest behind its share.
    Share,
}

/// Elements in lanes, as a discipline.
pub(crate) struct Lanes<T: Send, K: Key> {
    key_of: KeyOf<T, K>,
    order: Order,
    /// How many elements of one lane may be queued.
    bound: usize,
    /// How many elements of one lane may run.
    limit: usize,
    add_guard: Option<AddGuard<T, K>>,
    weights: HashMap<K, NonZeroU32>,
    index: HashMap<K, LaneId>,
    lanes: BTreeMap<LaneId, Lane<T, K>>,
    /// The lanes whose first element may leave.
    ready: BTreeSet<(Rank, LaneId)>,
    /// Lanes without elements, by their finish times.
    idle: BTreeSet<(u64, LaneId)>,
    virtual_time: u64,
    latest_finish: u64,
    next_lane: LaneId,
    next_arrival: u64,
    len: usize,
    available: usize,
    /// The queue of which this is the discipline.
    queue: Weak<Blocking<Self>>,
}

type LaneId = u64;

/// The start time in virtual time, or zero in order of arrival; then the number of the arrival.
type Rank = (u64, u64);

struct Lane<T, K> {
    key: K,
    items: VecDeque<Entry<T>>,
    running: usize,
    finish: u64,
    place: Place,
}

struct Entry<T> {
    item: T,
    arrival: u64,
}

/// Where a lane is listed, and how many of its elements are counted as available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Ready(Rank, usize),
    Idle(u64),
}

impl<T, K> Lane<T, K> {
    fn available(&self, limit: usize) -> usize {
        self.items.len().min(limit.saturating_sub(self.running))
    }
}

impl<T: Send, K: Key> Lanes<T, K> {
    /// Creates a queue of lanes without bounds, limits and weights.
    pub(crate) fn queue(key_of: KeyOf<T, K>, order: Order) -> Arc<Blocking<Self>> {
        Arc::new_cyclic(|queue| {
            Blocking::new(Self {
                key_of,
                order,
                bound: usize::MAX,
                limit: usize::MAX,
                add_guard: None,
                weights: HashMap::new(),
                index: HashMap::new(),
                lanes: BTreeMap::new(),
                ready: BTreeSet::new(),
                idle: BTreeSet::new(),
                virtual_time: 0,
                latest_finish: 0,
                next_lane: 0,
                next_arrival: 0,
                len: 0,
                available: 0,
                queue: Weak::clone(queue),
            })
        })
    }

    /// Sets how many elements of one key may be queued.
    pub(crate) fn set_bound(&mut self, bound: usize) -> usize {
        std::mem::replace(&mut self.bound, bound)
    }

    /// Sets how many elements of one key may run; returns the former limit.
    pub(crate) fn set_limit(&mut self, limit: usize) -> usize {
        let former = std::mem::replace(&mut self.limit, limit);
        let ids: Vec<_> = self.lanes.keys().copied().collect();
        for id in ids {
            self.relist(id);
        }
        former
    }

    /// Sets how elements that leave are counted until they have ended.
    pub(crate) fn set_add_guard(&mut self, add_guard: AddGuard<T, K>) {
        self.add_guard = Some(add_guard);
    }

    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Sets the weight of a key. Returns the former one; a weight of one takes no memory.
    pub(crate) fn set_weight(&mut self, key: K, weight: NonZeroU32) -> NonZeroU32 {
        let former = if weight == NonZeroU32::MIN {
            self.weights.remove(&key)
        } else {
            self.weights.insert(key, weight)
        };
        former.unwrap_or(NonZeroU32::MIN)
    }

    /// Returns how many elements with this key are queued, and how many run.
    pub(crate) fn counts(&self, key: &K) -> (usize, usize) {
        let lane = self.index.get(key).and_then(|id| self.lanes.get(id));
        lane.map_or((0, 0), |lane| (lane.items.len(), lane.running))
    }

    /// Returns how many keys have a lane.
    pub(crate) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// Counts an element that has ended.
    fn end(&mut self, id: LaneId) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.running -= 1;
        }
        self.relist(id);
    }

    fn lane_of(&mut self, key: K) -> LaneId {
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        let id = self.next_lane;
        // First, since it runs code of the key, which may panic.
        self.index.insert(key.clone(), id);
        self.next_lane += 1;
        let lane = Lane {
            key,
            items: VecDeque::new(),
            running: 0,
            finish: 0,
            place: Place::Nowhere,
        };
        self.lanes.insert(id, lane);
        id
    }

    /// Lists the lane where it belongs, after a change of its elements.
    fn relist(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(&id) else {
            return;
        };
        match std::mem::replace(&mut lane.place, Place::Nowhere) {
            Place::Ready(rank, available) => {
                self.ready.remove(&(rank, id));
                self.available -= available;
            }
            Place::Idle(finish) => {
                self.idle.remove(&(finish, id));
            }
            Place::Nowhere => {}
        }
        let available = lane.available(self.limit);
        lane.place = match lane.items.front() {
            Some(first) if available > 0 => {
                let start = match self.order {
                    Order::Arrival => 0,
                    Order::Share => lane.finish.max(self.virtual_time),
                };
                let rank = (start, first.arrival);
                self.ready.insert((rank, id));
                self.available += available;
                Place::Ready(rank, available)
            }
            None if lane.running == 0 && lane.finish > self.virtual_time => {
                self.idle.insert((lane.finish, id));
                Place::Idle(lane.finish)
            }
            None if lane.running == 0 => return self.forget(id),
            _ => Place::Nowhere,
        };
    }

    /// Removes a lane that is not listed.
    fn forget(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get(&id) else {
            return;
        };
        let index = &mut self.index;
        let removed = catch(|| {
            let removed = index.remove_entry(&lane.key);
            if index.len() < index.capacity() / 4 && index.capacity() > MIN_INDEX {
                index.shrink_to(2 * index.len());
            }
            removed
        });
        match removed {
            Ok(removed) => discard((removed, self.lanes.remove(&id))),
            // A key that cannot be found keeps its lane.
            Err(payload) => discard_payload(payload),
        }
    }

    /// Charges the lane for an element that leaves, and advances virtual time.
    fn charge(&mut self, id: LaneId, start: u64) {
        if self.order == Order::Arrival {
            return;
        }
        if let Some(lane) = self.lanes.get_mut(&id) {
            let weight = if self.weights.is_empty() {
                1
            } else {
                // A key that panics weighs one.
                let weight = catch(|| self.weights.get(&lane.key).map(|weight| weight.get()));
                weight
                    .unwrap_or_else(|payload| {
                        discard_payload(payload);
                        None
                    })
                    .unwrap_or(1)
            };
            lane.finish = start + (COST / u64::from(weight)).max(1);
            self.latest_finish = self.latest_finish.max(lane.finish);
        }
        self.virtual_time = start;
    }

    /// Removes the lanes whose finish time has come.
    fn forget_idle(&mut self) {
        if self.len == 0 {
            self.virtual_time = self.latest_finish;
        }
        while let Some(&(finish, id)) = self.idle.first() {
            if finish > self.virtual_time {
                break;
            }
            self.idle.pop_first();
            if let Some(lane) = self.lanes.get_mut(&id) {
                lane.place = Place::Nowhere;
            }
            self.forget(id);
        }
    }

    /// Returns the lane and the index of each element, in order of arrival.
    fn places(&self) -> impl Iterator<Item = (LaneId, usize)> {
        let firsts = self.lanes.iter().filter_map(|(&id, lane)| {
            let first = lane.items.front()?;
            Some(Reverse((first.arrival, id, 0)))
        });
        let mut heads: BinaryHeap<_> = firsts.collect();
        std::iter::from_fn(move || {
            let Reverse((_, id, at)) = heads.pop()?;
            if let Some(next) = self.lanes[&id].items.get(at + 1) {
                heads.push(Reverse((next.arrival, id, at + 1)));
            }
            Some((id, at))
        })
    }

    fn item(&self, (id, at): (LaneId, usize)) -> &T {
        &self.lanes[&id].items[at].item
    }
}

impl<T: Send, K: Key> Discipline for Lanes<T, K> {
    type Item = T;

    fn push(&mut self, item: T) {
        self.push_from(&mut Some(item));
    }

    fn push_from(&mut self, item: &mut Option<T>) {
        let Some(key) = item.as_ref().map(|item| (self.key_of)(item)) else {
            return;
        };
        let id = self.lane_of(key);
        let Some(item) = item.take() else { return };
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.items.push_back(Entry { item, arrival });
            self.len += 1;
        }
        self.relist(id);
    }

    fn pop(&mut self) -> Option<T> {
        let &((start, _), id) = self.ready.first()?;
        let lane = self.lanes.get_mut(&id)?;
        let item = lane.items.pop_front()?.item;
        lane.items.shrink_if_mostly_empty(0);
        lane.running += usize::from(self.add_guard.is_some());
        self.len -= 1;
        self.charge(id, start);
        self.relist(id);
        self.forget_idle();
        let Some(add_guard) = self.add_guard else {
            return Some(item);
        };
        let queue = Weak::clone(&self.queue);
        Some(add_guard(item, Running { queue, lane: id }))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn peek(&self) -> Option<&T> {
        match self.ready.first() {
            Some(&(_, id)) => Some(self.item((id, 0))),
            None => self.places().next().map(|place| self.item(place)),
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        Box::new(self.places().map(|place| self.item(place)))
    }

    fn remove(&mut self, index: usize) -> T {
        let place = self.places().nth(index);
        let removed = place.and_then(|(id, at)| {
            let removed = self.lanes.get_mut(&id)?.items.remove(at);
            self.len -= 1;
            self.relist(id);
            self.forget_idle();
            removed
        });
        removed.expect("there is an element at this index").item
    }

    fn retain(&mut self, verdicts: &[bool]) -> Vec<T> {
        let mut by_lane: BTreeMap<LaneId, Vec<bool>> = BTreeMap::new();
        for ((id, _), keep) in self.places().zip(verdicts) {
            by_lane.entry(id).or_default().push(*keep);
        }
        let mut removed = Vec::new();
        for (id, verdicts) in by_lane {
            if let Some(lane) = self.lanes.get_mut(&id) {
                let kept = lane.items.len();
                removed.extend(retain_by_verdicts(&mut lane.items, &verdicts));
                lane.items.shrink_if_mostly_empty(0);
                self.len -= kept - lane.items.len();
            }
            self.relist(id);
        }
        self.forget_idle();
        in_order_of_arrival(removed)
    }

    fn take_all(&mut self) -> Vec<T> {
        let all = self.lanes.values_mut();
        let taken = all.flat_map(|lane| std::mem::take(&mut lane.items));
        let taken: Vec<_> = taken.collect();
        self.len = 0;
        let ids: Vec<_> = self.lanes.keys().copied().collect();
        for id in ids {
            self.relist(id);
        }
        self.forget_idle();
        in_order_of_arrival(taken)
    }

    fn has_room_for(&self, item: &T) -> bool {
        self.bound == usize::MAX || self.counts(&(self.key_of)(item)).0 < self.bound
    }

    fn available(&self) -> usize {
        self.available
    }

    fn sees_every_element(&self) -> bool {
        self.add_guard.is_some()
    }

    fn has_partial_bounds(&self) -> bool {
        self.bound != usize::MAX
    }
}

fn in_order_of_arrival<T>(mut entries: Vec<Entry<T>>) -> Vec<T> {
    entries.sort_unstable_by_key(|entry| entry.arrival);
    entries.into_iter().map(|entry| entry.item).collect()
}

/// The guard of an element that has left and is counted as running until this is dropped.
///
/// It does not keep the queue alive: an element may be in that very queue again.
pub(crate) struct Running<T: Send, K: Key> {
    queue: Weak<Blocking<Lanes<T, K>>>,
    lane: LaneId,
}

impl<T: Send, K: Key> Drop for Running<T, K> {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.change(|lanes| lanes.end(self.lane));
        }
    }
}
