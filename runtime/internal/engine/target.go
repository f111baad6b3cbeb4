package engine

import (
	"errors"
	"fmt"
	"strings"
)

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
