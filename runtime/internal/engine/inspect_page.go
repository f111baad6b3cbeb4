package engine

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/busgen/busgen/runtime/event"
)

// CompletePage fills in the default, and refuses negative numbers.
func CompletePage(p event.Page) (event.Page, error) {
	switch {
	case p.Limit < 0:
		return p, fmt.Errorf("the limit is %d: it must not be negative", p.Limit)
	case p.Offset < 0:
		return p, fmt.Errorf("the offset is %d: it must not be negative", p.Offset)
	case p.Limit == 0:
		p.Limit = event.DefaultLimit
	}
	return p, nil
}

// cursorVersion begins every cursor. It changes with the order of any list, and with what
// a cursor is made of. The cursors of the first version began with none.
const cursorVersion = "2."

// PlaceOf returns the numbers of which the cursor of a page was made, or nil for the
// beginning of the list. For another cursor it returns a *PageError.
func PlaceOf(p event.Page, numbers int) ([]int64, error) {
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
		return nil, &event.PageError{After: p.After}
	}
	return place, nil
}

// CutPage returns the items of a page, of which an engine has read one more than the
// limit, and the cursor of the next page; place returns the numbers that say where
// an item is in the list. The cursor is empty if there are no more items.
func CutPage[T any](p event.Page, items []T, place func(T) []int64) ([]T, string) {
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
