package page

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/words"
)

// visible makes the characters of a page visible that do not show themselves, and bytes
// that are not UTF-8. The templates have none of these, so all of them come from texts
// of strangers; here none is forgotten.
func visible(page []byte) []byte {
	return []byte(words.Escape(string(page), func(c rune) bool { return c == '\n' || c == '\t' || words.Printable(c) }))
}

// long is a text that may be huge: the beginning of it and, if that is not all, where all
// of it is. The part "long" shows it.
type long struct {
	Text string
	Rest int    // bytes that are not shown
	Href string // of the whole text
}

// mostBytes is how long a text of a page can be.
const mostBytes = 2000

// cut makes a long text short, with a link to a [text] with these parameters: name, value, …
func cut(whole, of string, params ...string) long { return cutAt(mostBytes, whole, of, params...) }

// cutAt is cut at another length, in bytes.
func cutAt(most int, whole, of string, params ...string) long {
	if len(whole) <= most {
		return long{Text: whole}
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(whole[end]) {
		end--
	}
	values := url.Values{"of": {of}}
	for i := 0; i+1 < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	return long{Text: whole[:end], Rest: len(whole) - end, Href: "./text?" + values.Encode()}
}

// text returns a whole text that a page has cut.
type text func(q *request) (string, error)

// showText answers with a whole text, byte by byte, which no browser takes for anything
// else.
func showText(w http.ResponseWriter, q *request) error {
	of, ok := texts[q.URL.Query().Get("of")]
	if !ok {
		return badRequest("There is no such text.")
	}
	whole, err := of(q)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	if _, err := strings.NewReader(whole).WriteTo(w); err != nil {
		return errGone
	}
	return nil
}

// sealed writes a name for the value of a form, so that it comes back as it is whatever
// characters it has: [visible] would change some of them.
func sealed(name string) string { return url.QueryEscape(name) }

// opened is the name that was sealed.
func opened(value string) (string, error) {
	name, err := url.QueryUnescape(value)
	if err != nil {
		return "", badRequest("A field of the form is damaged.")
	}
	return name, nil
}
