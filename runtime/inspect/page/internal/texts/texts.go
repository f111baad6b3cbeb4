// Package texts makes texts of strangers safe and short for a page: it cuts them, shows what does not show itself,
// seals them for forms, and reads what an operator has typed.
package texts

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
)

// Visible makes the characters of a page visible that do not show themselves, and bytes
// that are not UTF-8. The templates have none of these, so all of them come from texts
// of strangers; here none is forgotten.
func Visible(page []byte) []byte {
	return []byte(words.Escape(string(page), func(c rune) bool { return c == '\n' || c == '\t' || words.Printable(c) }))
}

// Long is a text that may be huge: the beginning of it and, if that is not all, where all
// of it is. The part "long" shows it.
type Long struct {
	Text string
	Rest int    // bytes that are not shown
	Href string // of the whole text
}

// MostBytes is how long a text of a page can be.
const MostBytes = 2000

// Cut makes a long text short, with a link to a whole text with these parameters: name, value, …
func Cut(whole, of string, params ...string) Long { return CutAt(MostBytes, whole, of, params...) }

// CutAt is cut at another length, in bytes.
func CutAt(most int, whole, of string, params ...string) Long {
	if len(whole) <= most {
		return Long{Text: whole}
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(whole[end]) {
		end--
	}
	values := url.Values{"of": {of}}
	for i := 0; i+1 < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	return Long{Text: whole[:end], Rest: len(whole) - end, Href: "./text?" + values.Encode()}
}

// Sealed writes a name for the value of a form, so that it comes back as it is whatever
// characters it has: [Visible] would change some of them.
func Sealed(name string) string { return url.QueryEscape(name) }

// Opened is the name that was sealed.
func Opened(value string) (string, error) {
	name, err := url.QueryUnescape(value)
	if err != nil {
		return "", refusal.BadRequest("A field of the form is damaged.")
	}
	return name, nil
}

// Unsealing reads sealed fields. It keeps an error of one that is damaged.
func Unsealing(value func(string) string, damaged *error) func(string) string {
	return func(name string) string {
		text, err := Opened(value(name))
		if err != nil {
			*damaged = err
		}
		return text
	}
}

// Sentence makes a sentence of an error.
func Sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// Clip is the beginning of a text that nobody needs all of.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
