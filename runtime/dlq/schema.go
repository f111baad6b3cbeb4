package dlq

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Schema is what generated code says about the payloads of an event type. The bus
// stores it in its file when it is opened, if it differs from what is there.
type Schema struct {
	Version  int       // of the payloads that the program publishes
	Text     string    // one line of JSON, for busgen; its form may change
	StoredAt time.Time // when it last changed; UTC
	Program  string    // that stored it then: the name of its file, and its version
}

// Schema returns the schema of an event type that is stored in the file, or a zero
// Schema: types without generated code have none, and those of a file in which no
// program has been opened since busgen stores schemas. Programs of several versions
// store one each; that of the highest version is returned. It is what
// "busgen dlq edit" checks payloads with if it is given no catalogue.
func (i *Inspector) Schema(ctx context.Context, eventType string) (schema Schema, err error) {
	err = i.use(func(d *sqlite.DeadLetters) error {
		found, err := d.Schema(ctx, eventType)
		schema = Schema(found)
		return err
	})
	return schema, err
}
