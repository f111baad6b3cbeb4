package engine

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// DefaultLimit is how many items a [Page] has if it does not say.
const DefaultLimit = 100

// Page chooses a part of a list. The zero value is its beginning. What is added to
// the list meanwhile does not move the pages that follow.
type Page struct {
	After  string // the cursor that the page before has returned; empty for the beginning of the list
	Offset int    // how many items to pass over, from there
	Limit  int    // how many items to return; 0 for [DefaultLimit]
}

// Complete fills in the default, and refuses negative numbers.
func (p Page) Complete() (Page, error) {
	switch {
	case p.Limit < 0:
		return p, fmt.Errorf("the limit is %d: it must not be negative", p.Limit)
	case p.Offset < 0:
		return p, fmt.Errorf("the offset is %d: it must not be negative", p.Offset)
	case p.Limit == 0:
		p.Limit = DefaultLimit
	}
	return p, nil
}

// PageError says that [Page].After is no cursor of this list, or one of another version
// of busgen, which may order the list in another way.
type PageError struct{ After string }

// Error says what to do.
func (e *PageError) Error() string {
	return fmt.Sprintf("%q is not the end of a page: use what the page before has returned, "+
		"or begin again without it if the page is of another list or another version of busgen", e.After)
}

// cursorVersion begins every cursor. It changes with the order of any list, and with what
// a cursor is made of. The cursors of the first version began with none.
const cursorVersion = "2."

// Place returns the numbers of which the cursor of the page was made, or nil for the
// beginning of the list. For another cursor it returns a *PageError.
func (p Page) Place(numbers int) ([]int64, error) {
	if p.After == "" {
		return nil, nil
	}
	text, ours := strings.CutPrefix(p.After, cursorVersion)
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	var place []int64
	for ours && err == nil && len(bytes) > 0 {
		n, length := binary.Varint(bytes)
		if length <= 0 {
			break
		}
		place, bytes = append(place, n), bytes[length:]
	}
	if len(place) != numbers || len(bytes) > 0 {
		return nil, &PageError{p.After}
	}
	return place, nil
}

// CutPage returns the items of a page, of which an engine has read one more than the
// limit, and the cursor of the next page; place returns the numbers that say where
// an item is in the list. The cursor is empty if there are no more items.
func CutPage[T any](p Page, items []T, place func(T) []int64) ([]T, string) {
	if len(items) <= p.Limit {
		return items, ""
	}
	items = items[:p.Limit]
	return items, cursorOf(place(items[p.Limit-1]))
}

// CursorAt makes the cursor of a place in a list, whether or not an item is there.
func CursorAt(place ...int64) string { return cursorOf(place) }

// cursorOf makes a cursor of numbers.
func cursorOf(place []int64) string {
	var cursor []byte
	for _, n := range place {
		cursor = binary.AppendVarint(cursor, n)
	}
	return cursorVersion + base64.RawURLEncoding.EncodeToString(cursor)
}
