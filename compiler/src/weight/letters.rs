//! Whether letters make a word: how unlikely each is after the one before it, in words of program texts.

/// For the start of a word and for each letter from a to z: what each letter from a to z says after it, in bits, counted over the words in
/// the documentation of some four thousand packages.
const SAYS: [&[u8; 26]; 27] = [
    b"45344555477545548434565888", // at the start
    b"94449759496353959342667869", // after a
    b"37673969369269479446389869", // after b
    b"39583893494479289563599979", // after c
    b"47751768288577489547478969", // after d
    b"47436568799453857335867589", // after e
    b"49783389299477379455499959", // after f
    b"48672754399564479357499978", // after g
    b"28982999398666379464699959", // after h
    b"55455559998452369543959796", // after i
    b"36562977566655267646395799", // after j
    b"47762669299675567635596979", // after k
    b"39752789298398379855579939", // after l
    b"25872999399658439958599989", // after m
    b"49444528496786589933669979", // after n
    b"66458669696442549345455899", // after o
    b"39773985499389349254599969", // after p
    b"99997999799597999777196999", // after q
    b"38652769396656379544578959", // after r
    b"59583794396677448842498969", // after s
    b"39672794299689489345598959", // after t
    b"44464659498443749333999899", // after u
    b"39791989299988489979899889", // after v
    b"28773883398594379447997979", // after w
    b"49363896399858629743798678", // after x
    b"56584867498543439534975976", // after y
    b"35991796398569599969699965", // after z
];

/// A word says less than this a letter: so do 98 of 100 words, and one in seven texts of seven letters that were drawn by lot.
const MOST_OF_A_WORD: u32 = 52;
/// Shorter texts are words: they may be abbreviations, in which any letter follows any other.
const SHORTEST: usize = 5;

/// Whether letters that follow each other like this were drawn by lot, rather than being a word. What is not written in the letters from
/// a to z is a word of another language.
pub(super) fn are_drawn(token: &str) -> bool {
    let mut before = 0;
    let mut sum = 0;
    let mut letters = 0;
    for byte in token.bytes() {
        let Some(letter) = byte.is_ascii_alphabetic().then(|| usize::from(byte.to_ascii_lowercase() - b'a')) else { return false };
        let says = SAYS.get(before).and_then(|row| row.get(letter)).map_or(0, |digit| u32::from(digit - b'0'));
        sum += says * 10;
        letters += 1;
        before = letter + 1;
    }
    token.len() >= SHORTEST && sum > letters * MOST_OF_A_WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_letters_that_were_drawn() {
        for word in [
            "standard",
            "continental",
            "strengths",
            "months",
            "queue",
            "bitbucket",
            "SUCCEEDED",
            "genehmigt",
            "pendiente",
            "überfällig",
            "xlsx",
        ] {
            assert!(!are_drawn(word), "{word}");
        }
        for drawn in ["blbmg", "kdgne", "qzvkwtrm", "XKQJVBZD"] {
            assert!(are_drawn(drawn), "{drawn}");
        }
    }
}
