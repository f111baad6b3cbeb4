package admin

import (
	"context"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Unsettled is an event that some subscription has yet to handle, or has given up.
type Unsettled struct {
	ID   uuid.UUID
	Type string
	// Names are all that the type has ever had, the present one included: a program
	// may know another one only.
	Names   []string
	Version int    // of its payload
	Payload []byte // JSON; valid only until the function that was given it returns
	Open    int    // deliveries that wait, run or are on their way
	Dead    int    // dead letters
}

// Unsettled calls visit for every event that is open or dead, in the order of the
// log, but not for those of the bus itself. It changes nothing, and nobody waits
// for it, but the write-ahead log beside the file cannot shrink while it runs.
func (f *File) Unsettled(ctx context.Context, visit func(Unsettled)) error {
	return f.use(func(a *sqlite.Admin) error {
		return a.Unsettled(ctx, func(e sqlite.Unsettled) { visit(unsettled(e)) })
	})
}

func unsettled(e sqlite.Unsettled) Unsettled {
	return Unsettled{ID: e.ID, Type: e.Type, Names: e.Names, Version: e.Version, Payload: e.Payload, Open: e.Open, Dead: e.Dead}
}
