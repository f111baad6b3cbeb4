package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

// BusFileExists returns an error that says what is wrong if there is no file at
// path.
func BusFileExists(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s: name the file on which the program opens its bus", path)
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder: name the file on which the program opens its bus", path)
	}
	return err
}

// TypeOf returns the name that a catalogue has for the type of a stored event.
func TypeOf(c *catalog.Catalogue, e event.Unsettled) string {
	for _, name := range e.Names {
		if c.EventNamed(name) != nil {
			return name
		}
	}
	return e.Type
}

// ShortID returns the part of an id that is its time. Unlike the rest, it is
// enough to name the event.
func ShortID(id uuid.UUID) string { return id.String()[:18] }

// OpenDeliveries formats a number of deliveries.
func OpenDeliveries(n int) string {
	if n == 1 {
		return "1 open delivery"
	}
	return terminal.Number(n) + " open deliveries"
}
