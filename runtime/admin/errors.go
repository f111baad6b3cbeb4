package admin

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// NotFoundError says that the file has no such thing.
type NotFoundError struct {
	Thing string   // event, subscription or pause
	Name  string   // what was asked for
	Known []string // the names there are, of a subscription or a pause
}

// Error lists what there is, if that is not too much.
func (e *NotFoundError) Error() string {
	const shown = 10
	text := fmt.Sprintf("there is no %s %s in this file", e.Thing, e.Name)
	if e.Thing == "event" {
		return text + ": it was never published to it, or was pruned since"
	}
	switch n := len(e.Known); {
	case n == 0:
		return text + ", and no other"
	case n <= shown:
		return text + ": it has " + strings.Join(e.Known, ", ")
	default:
		return fmt.Sprintf("%s: it has %s and %d more", text, strings.Join(e.Known[:shown], ", "), n-shown)
	}
}

// AmbiguousError says that the ids of several events begin with a prefix.
type AmbiguousError struct {
	Prefix string
	IDs    []uuid.UUID // some of them
	More   bool        // there are more
}

// Error lists them.
func (e *AmbiguousError) Error() string {
	ids := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		ids[i] = id.String()
	}
	text := fmt.Sprintf("several events begin with %s: %s", e.Prefix, strings.Join(ids, ", "))
	if e.More {
		text += " and more"
	}
	return text
}
