package tuning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog/watch"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime"
)

// Report says what applying a catalogue file has changed, and what it could not change.
type Report struct {
	// Tuned lists the limits whose numbers now differ from those of the generated code, each
	// as "limit " and its name, and then the event types and declared subscriptions whose
	// settings do, in the order of the program's catalogue.
	Tuned []string
	// NeedsBuild describes the differences that take effect only when the program
	// is generated and built again, each with its position in the file.
	NeedsBuild []string
	// NeedsRestart describes the settings that take effect only for subscriptions that begin
	// to deliver afterwards: concurrency and strict_order. The program has to be restarted, and to apply the
	// file before [runtime.Bus.Start], or to be generated and built again.
	NeedsRestart []string
}

// Apply reads the catalogue at path, with the files that it includes, and tunes bus by it, once. The error is a
// *[FindingsError] if the catalogue has findings. Any other error means that the
// file cannot be read or that the bus refuses the settings. On an error nothing
// changes.
//
// It is safe for concurrent use, and the last call wins.
func Apply(bus *runtime.Bus, path string) (Report, error) {
	file, err := watch.Read(path)
	if err != nil {
		return Report{}, fmt.Errorf("tuning: cannot read the catalogue: %w", err)
	}
	report, _, err := apply(bus, file)
	return report, err
}

func apply(bus *runtime.Bus, file *watch.Snapshot) (Report, runtime.Tuning, error) {
	if len(file.Findings) > 0 {
		return Report{}, runtime.Tuning{}, findingsError(file.Path, file.Findings)
	}
	tuning, report := compare(bus.Catalogue(), file.Catalogue)
	if err := bus.Tune(tuning); err != nil {
		return Report{}, runtime.Tuning{}, fmt.Errorf("tuning by %s: %w", file.Path, err)
	}
	report.NeedsRestart = needRestart(bus)
	return report, tuning, nil
}

// needRestart describes the concurrencies and strict orders that are tuned and not in force.
func needRestart(bus *runtime.Bus) (all []string) {
	for _, s := range bus.Stats().Subscriptions {
		name := "subscription " + s.Name
		if s.Group != "" {
			name = "group " + s.Group
		}
		note := func(format string, args ...any) {
			line := name + fmt.Sprintf(format, args...)
			if !slices.Contains(all, line) { // each member of a group has it
				all = append(all, line)
			}
		}
		if s.NextConcurrency != 0 {
			note(" has concurrency %d, and %d after a restart", s.Concurrency, s.NextConcurrency)
		}
		if s.NextStrictOrder != nil && *s.NextStrictOrder {
			note(" has no strict order, and will have one after a restart")
		} else if s.NextStrictOrder != nil {
			note(" has a strict order, and none after a restart")
		}
	}
	return all
}

// FindingsError lists the findings of a catalogue that was therefore not applied.
type FindingsError struct {
	Path     string
	Findings []Finding // in the order of the files
}

// Finding is one mistake in a catalogue.
type Finding struct {
	Position string // file:line:column
	Problem  string // what is wrong, and what to do about it
	Rule     string // the stable id of the check, as in docs/catalogue.md
}

// Error has a line for each finding.
func (e *FindingsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tuning: %s is not applied, because it has findings:", e.Path)
	for _, f := range e.Findings {
		fmt.Fprintf(&b, "\n%s: %s [%s]", f.Position, f.Problem, f.Rule)
	}
	return b.String()
}

func findingsError(path string, findings diag.Findings) *FindingsError {
	e := &FindingsError{Path: path}
	for _, f := range findings {
		problem := f.Message
		if f.Hint != "" {
			problem += "; " + f.Hint
		}
		e.Findings = append(e.Findings, Finding{f.Pos.String(), problem, f.Rule.ID})
	}
	return e
}
