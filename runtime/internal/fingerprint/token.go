package fingerprint

import "strings"

// Tokens are what base64 and its relatives make of random bytes: session keys,
// signatures, web tokens. No two are alike, and no word looks like them.

const (
	leastToken  = 16  // shorter ones are taken for words
	tokenWindow = 256 // by so many bytes it is seen whether a long run is one
	leastPeeled = 5   // letters of a word that may stand before a token: reset/…
)

// token returns the length of the token that in begins with, its padding
// included, or 0.
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

// runOf returns how many of the first limit bytes a token can be made of.
func runOf(in string, limit int) (length int) {
	for length < min(len(in), limit) && isTokenByte(in[length]) {
		length++
	}
	return length
}

func isTokenByte(c byte) bool { return isWord(c) && c < 128 || isSeparator(c) || c == '+' }

func isSeparator(c byte) bool { return c == '/' || c == '-' || c == '_' }

// peeled reports whether a run begins with a word that a separator ends, or with
// the short name of what follows (cus_…) if too little follows: the rest is looked
// at by itself.
func peeled(run string) bool {
	if isSeparator(run[0]) {
		run = run[1:]
	}
	end := strings.IndexFunc(run, func(c rune) bool { return c < 'a' || c > 'z' })
	return end >= 2 && isSeparator(run[end]) && (end >= leastPeeled || len(run)-end-1 < leastToken)
}

// random reports whether letters of both cases and digits change too often for
// words, names in camel case and paths. Those have segments (a capital and small
// letters, capitals, digits) of three bytes and more; of random bytes they are
// little longer than two. marked says that it is probably base64 anyway.
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
