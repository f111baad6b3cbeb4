// Package inside is how packages of this module call what package runtime does not export. Package runtime has only
// names that programs use; what generated code needs beside them is in package gen/bind, which no program calls by hand.
package inside

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Runtime has the methods of package runtime that package gen/bind calls. That says which: here they cannot be named,
// because their parameters are types of package runtime.
var Runtime any

// Head has the fields of a runtime.Event without its payload. Each Event begins with them, whatever
// the type of its payload is, so that code which does not know that type can fill them in. The
// compiler makes the code of generic functions again for each type of payload, in each build of
// the generated package: what works with a head is made once.
type Head struct {
	ID            uuid.UUID
	Type          string
	Version       int
	Metadata      map[string]string
	CorrelationID string
	ParentID      uuid.UUID
	PublishedBy   string
	Hops          int
	Schedule      string
	ScheduledFor  time.Time
	PublishedAt   time.Time
	Subscription  string
	Attempt       int
	MaxAttempts   int
	Replayed      bool
	Handed        context.Context // of the attempt; an Event does not export it
}
