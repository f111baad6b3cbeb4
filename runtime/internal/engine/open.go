package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Engine opens event logs of one kind.
type Engine interface {
	// Open opens the log at target, and makes one where there is none if the engine
	// can. A target is what the user passes to the bus: the path of a file, or an
	// address such as nats://host/name. ctx bounds the opening only.
	//
	// The error is a *StorageError when the log cannot be used; it is left as it is.
	Open(ctx context.Context, target string, options Options) (Log, error)
}

// Options are what a bus asks of the log that it opens. Each field may be zero.
type Options struct {
	// Logger gets what goes wrong in the background: dispositions that cannot be
	// written, and that they can be again. Nil for silence.
	Logger *slog.Logger
	// Unsynced lets events survive the death of the process only, not a power cut.
	// An engine whose server decides that ignores it.
	Unsynced bool
	// Wall is the wall clock, for tests that set it. Nil for that of the machine.
	Wall func() time.Time
	// Program is what operators call this process.
	Program string
	// Changed is called on a goroutine of its own when the log is no longer the one
	// that was opened: with ErrRestored, or with the reason why this process no longer
	// dispatches. Nil for nobody.
	Changed func(error)
	// Recovered is called, on a goroutine of its own, with what a takeover has found that
	// was not asked for by TakeOver: the process goes on with a subscription whose owner has
	// died meanwhile. A crash loop is told alone, before anything is handed out, and the
	// caller waits for that. Nil for nobody.
	Recovered func(Recovery)
}

// otherEngines are the engines with a package of their own, by the scheme of their
// targets.
var otherEngines = map[string]struct{ path, option string }{
	"nats":     {"github.com/busgen/busgen/runtime/jetstream", "jetstream.Engine()"},
	"tls":      {"github.com/busgen/busgen/runtime/jetstream", "jetstream.Engine()"},
	"postgres": {"github.com/busgen/busgen/runtime/postgres", "postgres.Engine()"},
}

// RequirePath refuses a target that is not the path of a file, and says what is
// missing. It does not repeat the target, which may hold a password.
func RequirePath(target string) error {
	scheme, _, isURL := strings.Cut(target, "://")
	if !isURL {
		return nil
	}
	if scheme == "file" {
		return errors.New("open file://…: give the path of the file itself, without file://")
	}
	if other, known := otherEngines[scheme]; known {
		return fmt.Errorf("open %s://…: the engine for this is not built in: import %s, if your version of busgen has it, and pass %s to Open",
			scheme, other.path, other.option)
	}
	return fmt.Errorf("open %s://…: no engine for this is known; without an option that brings one, Open takes the path of a file", scheme)
}
