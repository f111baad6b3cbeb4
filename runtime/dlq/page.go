package dlq

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// DefaultLimit is how much a page holds unless it says otherwise.
const DefaultLimit = 100

// Page chooses a part of a list. The zero value is the newest [DefaultLimit].
type Page struct {
	After  string // go on where the page ended that returned this; "" for the newest
	Offset int    // how many to pass over, from there
	Limit  int    // how many to return; 0 for DefaultLimit
}

// complete fills in the default and checks the rest.
func (p Page) complete() (Page, error) {
	if p.Offset < 0 || p.Limit < 0 {
		return p, fmt.Errorf("a page's offset (%d) and limit (%d) must not be negative", p.Offset, p.Limit)
	}
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	return p, nil
}

// cursor names a place in a list by its numbers.
func cursor(place ...int64) string {
	var bytes []byte
	for _, n := range place {
		bytes = binary.AppendVarint(bytes, n)
	}
	return base64.RawURLEncoding.EncodeToString(bytes)
}

// parseCursor reads what cursor has made of that many numbers. Zeros stand for
// an empty text.
func parseCursor(text string, numbers int) ([]int64, error) {
	place := make([]int64, numbers)
	if text == "" {
		return place, nil
	}
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	for i := range place {
		n, length := binary.Varint(bytes)
		if err != nil || length <= 0 {
			return nil, fmt.Errorf("page after %q: this is not what the end of a page has returned", text)
		}
		place[i], bytes = n, bytes[length:]
	}
	return place, nil
}

func cursorOf(m sqlite.LetterMark) string {
	return cursor(m.DeadAt.UnixMicro(), m.Subscription, m.Seq)
}

func markOf(text string) (mark sqlite.LetterMark, err error) {
	place, err := parseCursor(text, 3)
	if text == "" || err != nil {
		return mark, err
	}
	return sqlite.LetterMark{DeadAt: time.UnixMicro(place[0]), Subscription: place[1], Seq: place[2]}, nil
}
