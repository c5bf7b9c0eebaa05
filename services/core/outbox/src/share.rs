//! How several relays share the shards.

/// How many shards one of `members` relays should own: ⌈shards ÷ members⌉. Rounded up, so that all shards have an
/// owner whatever the division leaves; relays beyond the shards own none and stand by.
#[must_use]
pub fn fair_share(shards: u32, members: u32) -> u32 {
    shards.div_ceil(members.max(1))
}

/// The shards to let go of: the highest ones beyond the fair share, and those that no longer exist.
#[must_use]
pub fn surplus(owned: &[u32], shards: u32, members: u32) -> Vec<u32> {
    let mut kept: Vec<u32> = owned
        .iter()
        .copied()
        .filter(|shard| *shard < shards)
        .collect();
    kept.sort_unstable();
    kept.truncate(fair_share(shards, members) as usize);
    owned
        .iter()
        .copied()
        .filter(|shard| !kept.contains(shard))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_shards() {
        for shards in 1..20 {
            for members in 1..25 {
                assert!(
                    fair_share(shards, members) * members >= shards,
                    "{shards} {members}"
                );
            }
        }
        assert_eq!(fair_share(2, 0), 2);
        assert_eq!(fair_share(7, 3), 3);
    }

    #[test]
    fn lets_go_of_the_highest_and_of_the_vanished() {
        assert_eq!(surplus(&[0, 1], 2, 1), []);
        assert_eq!(surplus(&[1, 0], 2, 2), [1]);
        assert_eq!(surplus(&[0, 5, 3], 4, 1), [5]);
        assert_eq!(surplus(&[3, 1, 2], 4, 4), [3, 2]);
    }
}
