package main

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/record"
	"github.com/busgen/busgen/templates"
)

// generation returns a runner that generates the code of a catalogue of that
// many events into an empty folder, and once more into the same folder.
func generation(events int) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		path := filepath.Join(s.dir, "events.yaml")
		if err := os.WriteFile(path, manyEvents(events), 0o666); err != nil {
			return result{}, err
		}
		var folder string
		var files []output.File
		anew := func(time.Duration) (_ int, err error) {
			if folder, err = os.MkdirTemp(s.dir, "code-"); err != nil {
				return 0, err
			}
			files, _, err = generate(path, folder)
			return events, err
		}
		again := func(time.Duration) (int, error) {
			_, plan, err := generate(path, folder)
			if err == nil && !plan.UpToDate() {
				err = errors.New("the second run was not for nothing")
			}
			return events, err
		}
		gofmt := func(time.Duration) (int, error) { return events, formatAll(files) }
		if _, err := anew(0); err != nil { // the second run and the limit are about its files
			return result{}, err
		}
		rounds, err := takeTurns(ctx, s.total, 0, anew, again, gofmt)
		if err != nil {
			return result{}, err
		}
		r := compare(rounds, 0, 2).result()
		r.Generate, r.Again = milliseconds(rounds, 0), milliseconds(rounds, 1)
		return r, nil
	}
}

// generate does what busgen generate does.
func generate(path, folder string) ([]output.File, *output.Plan, error) {
	c, findings, err := parse.Load(path)
	if err == nil && findings != nil {
		err = findings
	}
	if err != nil {
		return nil, nil, err
	}
	files, err := templates.Files(c, templates.Target{ImportPath: "example.org/many"})
	if err != nil {
		return nil, nil, err
	}
	present, err := os.ReadFile(filepath.Join(folder, record.FileName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	var before *record.Record
	if present != nil {
		before = record.Read(record.FileName, present)
	}
	wire, err := record.Compare(c, before, record.Options{Catalogue: "events.yaml", Read: os.ReadFile, Present: present})
	if err != nil {
		return nil, nil, err
	}
	plan, err := output.Compare(folder, append(slices.Clip(files), wire.File))
	if err != nil {
		return nil, nil, err
	}
	return files, plan, plan.Apply()
}

// formatAll formats code that is formatted already, all files at once.
func formatAll(files []output.File) error {
	failures := make([]error, len(files))
	var running sync.WaitGroup
	for i, file := range files {
		running.Go(func() { _, failures[i] = format.Source(file.Content) })
	}
	running.Wait()
	return errors.Join(failures...)
}

// milliseconds returns the median over the rounds of the time that a slice of one side
// took.
func milliseconds(rounds []round, side int) float64 {
	var took []time.Duration
	for _, r := range rounds {
		took = append(took, r[side].took)
	}
	slices.Sort(took)
	return float64(took[len(took)/2].Microseconds()) / 1000
}

// kinds are the types of the fields of an event that is made up: what catalogues are full of, with
// something of everything that makes code.
var kinds = []string{
	"uuid", "string", "int64", "time", "Money", `"string?"`, `"[]Line"`, `"map[string]string"`,
	"{ type: string, format: email, max_length: 254 }", "{ type: Status, doc: How far it is. }",
}

// manyEvents is a catalogue of n events with ten fields each.
func manyEvents(n int) []byte {
	var b strings.Builder
	b.WriteString(`version: 1
package: many
policies:
  area1.*: { retry: { max_attempts: 6, max_delay: 1m } }
types:
  Status: { enum: [open, waiting, done] }
  Money: { fields: { amount: int64, currency: string } }
  Line: { fields: { sku: string, quantity: { type: int, min: 1 }, price: Money } }
events:
`)
	for i := range n {
		fmt.Fprintf(&b, "  area%d.thing_%d.happened:\n    doc: Something happened to thing %d.\n    partition_by: "+
			"field_0\n    payload:\n", i%20, i, i)
		for j, kind := range kinds {
			fmt.Fprintf(&b, "      field_%d: %s\n", j, kind)
		}
		if i%4 == 0 {
			fmt.Fprintf(&b, "    subscriptions: { handle-%d: {} }\n", i)
		}
	}
	return []byte(b.String())
}
