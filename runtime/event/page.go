package event

import (
	"fmt"
)

// DefaultLimit is how many items a [Page] has if it does not say.
const DefaultLimit = 100

// Page chooses a part of a list: where to go on (After), how many items to pass over
// (Offset) and how many to return (Limit). The zero value is the first [DefaultLimit]
// items. Every list returns, after its items, the After of the next page, which is
// empty if there are no more items.
type Page struct {
	After  string // the cursor that the page before has returned; empty for the beginning of the list
	Offset int    // how many items to pass over, from there
	Limit  int    // how many items to return; 0 for [DefaultLimit]
}

// PageError says that [Page].After is no cursor of this list, or one of another version
// of busgen, which may order the list in another way.
type PageError struct{ After string }

// Error says what to do.
func (e *PageError) Error() string {
	return fmt.Sprintf("%q is not the end of a page: use what the page before has returned, "+
		"or begin again without it if the page is of another list or another version of busgen", e.After)
}
