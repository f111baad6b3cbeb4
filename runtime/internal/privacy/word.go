package privacy

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// boundary says where a value stands alone, and is not a part of something longer. It is asked with the text and the
// place of a value that has no letters or digits next to it.
type boundary func(text string, from, to int) bool

// anywhere takes each word: 4711 of order-4711, and ada of ada@example.org.
func anywhere(string, int, int) bool { return true }

// alone takes no part of a longer name: the characters . _ - + @ belong to a name if there is a letter or a digit
// beyond them.
func alone(text string, from, to int) bool {
	before, after := text[:from], text[to:]
	left, right := strings.TrimRight(before, joints), strings.TrimLeft(after, joints)
	return (left == before || !isWord(lastRune(left))) && (right == after || !isWord(firstRune(right)))
}

// outsideAddresses is alone within an address, such as bob.ada@example.org, and anywhere elsewhere.
func outsideAddresses(text string, from, to int) bool {
	start, end := nameAround(text, from, to)
	if strings.Contains(text[max(start-1, 0):min(end+3, len(text))], "%40") {
		return false // it is an address in a URL
	}
	return !strings.Contains(text[start:end], "@") || alone(text, from, to)
}

// joints are the characters of an address that are no letters or digits.
const joints = "._-+@"

// longestAddress is how many bytes of a name are looked at on each side.
const longestAddress = 320

// nameAround returns where the name begins and ends in which a value is: letters, digits and joints.
func nameAround(text string, from, to int) (start, end int) {
	start, end = from, to
	for start > max(0, from-longestAddress) {
		r, n := utf8.DecodeLastRuneInString(text[:start])
		if !isWord(r) && !strings.ContainsRune(joints, r) {
			break
		}
		start -= n
	}
	for end < min(len(text), to+longestAddress) {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !isWord(r) && !strings.ContainsRune(joints, r) {
			break
		}
		end += n
	}
	return start, end
}

// escape is an escape of JSON, Go or a URL at the end of a text. Its last character is no part of a word.
var escape = regexp.MustCompile(`(\\[abfnrtv]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|%[0-9a-fA-F]{2})$`)

// word returns where a value is in a text, at from or later, that is not a part of a longer word or number; -1 for
// nowhere.
func word(text, value string, from int, within boundary) int {
	for {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return -1
		}
		at += from
		before, after := lastRune(text[:at]), firstRune(text[at+len(value):])
		if !(isWord(before) && isWord(firstRune(value)) && !escape.MatchString(text[max(at-10, 0):at])) && !(isWord(after) && isWord(lastRune(value))) &&
			within(text, at, at+len(value)) {
			return at
		}
		from = at + 1
	}
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func lastRune(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// isWord tells letters and digits from what is between words. There is no letter at the end of a text.
func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
