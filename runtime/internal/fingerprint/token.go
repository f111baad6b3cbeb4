package fingerprint

import "strings"

// Tokens are random bytes in base64 or a similar encoding: session keys,
// signatures, web tokens. Each is different, and none looks like a word.

const (
	leastToken  = 16  // the shortest token, in bytes; shorter runs count as words
	tokenWindow = 256 // how many bytes of a long run are examined
	leastPeeled = 5   // the least letters of a word in front of a token: reset/…
)

// token returns the length of the token at the beginning of in, padding included,
// or 0 if there is none.
func token(in string) int {
	length := runOf(in, tokenWindow)
	if length < leastToken {
		return 0
	}
	run := in[:length]
	padded := length < len(in) && in[length] == '='
	if !padded && peeled(run) || !random(run, padded || strings.Contains(run, "+")) {
		return 0
	}
	length = runOf(in, len(in))
	for padding := 0; padding < 2 && length < len(in) && in[length] == '='; padding++ {
		length++
	}
	if length < len(in) && isWord(in[length]) {
		return 0
	}
	return length
}

// runOf returns how many bytes at the beginning of in can be part of a token, at most limit.
func runOf(in string, limit int) (length int) {
	for length < min(len(in), limit) && isTokenByte(in[length]) {
		length++
	}
	return length
}

func isTokenByte(c byte) bool { return isWord(c) && c < 128 || isSeparator(c) || c == '+' }

func isSeparator(c byte) bool { return c == '/' || c == '-' || c == '_' }

// peeled reports whether a run begins with a word and a separator, so that the rest
// is examined by itself. A short prefix (cus_…) counts as a word only if the rest is
// too short for a token.
func peeled(run string) bool {
	if isSeparator(run[0]) {
		run = run[1:]
	}
	end := strings.IndexFunc(run, func(c rune) bool { return c < 'a' || c > 'z' })
	return end >= 2 && isSeparator(run[end]) && (end >= leastPeeled || len(run)-end-1 < leastToken)
}

// random reports whether small letters, capitals and digits alternate too often for
// words, names in camel case and paths. A segment is a capital with small letters, a
// run of capitals or a run of digits. In names, segments have three bytes and more;
// in random bytes, little more than two. marked says that padding or a plus sign
// suggests base64, which lowers the threshold.
func random(run string, marked bool) bool {
	var segments, bytes, separators, inside int
	var small, capital bool
	last := byte(0)
	for i := range len(run) {
		c := run[i]
		next := byte(0)
		if i+1 < len(run) {
			next = run[i+1]
		}
		switch {
		case isSmall(c):
			small = true
			if !isSmall(last) && !isCapital(last) {
				segments++
			}
		case isCapital(c):
			capital = true
			if !isCapital(last) || isSmall(next) {
				segments++
			}
		case isDigit(c):
			if !isDigit(last) {
				segments++
				if last != 0 && !isSeparator(last) {
					inside++
				}
			}
		default:
			separators++
			bytes--
		}
		bytes++
		last = c
	}
	switch {
	case !small || !capital || separators*5 > len(run):
		return false
	case marked:
		return segments*100 >= bytes*20
	case inside >= 2: // digits in several places
		return segments*100 >= bytes*26
	}
	return segments*100 >= bytes*34
}

func isSmall(c byte) bool { return 'a' <= c && c <= 'z' }

func isCapital(c byte) bool { return 'A' <= c && c <= 'Z' }
