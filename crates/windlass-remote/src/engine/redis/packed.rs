//! Reads what `cmsgpack.pack` makes of a list of strings: an array of strings in `MessagePack`.

/// Returns the strings; `None` if that is not what the bytes are.
pub(super) fn strings(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (&mark, mut rest) = bytes.split_first()?;
    let count = match mark {
        0x90..=0x9f => usize::from(mark & 0x0f),
        0xdc => number(&mut rest, 2)?,
        0xdd => number(&mut rest, 4)?,
        _ => return None,
    };
    // Every string has a byte at least, so no more are there, whatever the count says.
    let mut strings = Vec::with_capacity(count.min(rest.len()));
    for _ in 0..count {
        strings.push(string(&mut rest)?);
    }
    rest.is_empty().then_some(strings)
}

fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&mark, after) = rest.split_first()?;
    *rest = after;
    let length = match mark {
        0xa0..=0xbf => usize::from(mark & 0x1f),
        0xd9 => number(rest, 1)?,
        0xda => number(rest, 2)?,
        0xdb => number(rest, 4)?,
        _ => return None,
    };
    let (string, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(string)
}

/// Reads a number of so many bytes, the highest first.
fn number(rest: &mut &[u8], bytes: usize) -> Option<usize> {
    let (number, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(
        number
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::strings;

    fn packed(list: &[&[u8]]) -> Vec<u8> {
        let mut out = vec![0xdd];
        out.extend((list.len() as u32).to_be_bytes());
        for string in list {
            match string.len() {
                0..32 => out.push(0xa0 | string.len() as u8),
                32..256 => out.extend([0xd9, string.len() as u8]),
                256..65_536 => {
                    out.push(0xda);
                    out.extend((string.len() as u16).to_be_bytes());
                }
                _ => {
                    out.push(0xdb);
                    out.extend((string.len() as u32).to_be_bytes());
                }
            }
            out.extend(*string);
        }
        out
    }

    #[test]
    fn strings_of_all_lengths_are_read() {
        let long: Vec<Vec<u8>> = [0, 1, 31, 32, 255, 256, 65_535, 65_536]
            .map(|length| vec![7; length])
            .into();
        let list: Vec<&[u8]> = long.iter().map(Vec::as_slice).collect();
        assert_eq!(strings(&packed(&list)), Some(list));
        assert_eq!(strings(&[0x90]), Some(vec![]));
        assert_eq!(
            strings(&[0x92, 0xa1, b'a', 0xa0]),
            Some(vec![&b"a"[..], b""])
        );
        assert_eq!(strings(&[0xdc, 0, 1, 0xa1, b'a']), Some(vec![&b"a"[..]]));
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_refused() {
        let whole = packed(&[b"a", &[1; 40], &[2; 300]]);
        for end in 0..whole.len() {
            assert_eq!(strings(&whole[..end]), None, "{end}");
        }
        let longer = [whole.as_slice(), &[0]].concat();
        assert_eq!(strings(&longer), None);
        assert_eq!(strings(&[0xdd, 255, 255, 255, 255]), None);
        assert_eq!(strings(b"text"), None);
    }
}
