package busfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newEventsPublish(on cli.Engines) *cobra.Command {
	var catalogue, path, lines string
	one := inspect.NewEvent{}
	takes := arguments{most: 2, what: "an event type and the JSON of a payload", candidates: typeNames}
	cmd := onFile(on, &cobra.Command{
		Use:   "publish FILE [TYPE [JSON]]",
		Short: "Publish an event, or many",
		Long: `Publish stores an event of TYPE. The program that dispatches notices it within
200 ms; while none dispatches, it waits. The payload is the JSON on the command
line, or it comes from the file that --payload names, or from standard input. It
must fit the schema of the event type: that of the catalogue if --catalogue
names one, else the one in FILE. What only the program can check is left out,
and so is what its middleware adds.

With --lines, and FILE alone: a file, or standard input for -, has one JSON
object a line, with type, payload and, if wanted, metadata (an object of texts),
dedupe_key and delay (as in 1h30m). Up to 500 lines are published together, all
of them or none. If one is refused, publish says which, and how many were
published before that. With keys, publishing the file again is safe.

With --json: one line for each event, with id, type and duplicate: an event with
this key was published before, and nothing was stored.

Exit status: 0 done, 1 an event was refused, 2 trouble, 3 there is no such event
type.`,
		Example: `  busgen events publish shop.db order.placed '{"number": 5, "email": "ada@example.org"}'
  busgen events publish shop.db order.placed --payload order.json --dedupe-key order-5 --delay 10m
  busgen events publish shop.db --lines events.jsonl`,
	}, fileVerb{takes: takes, works: true, changes: true, opens: true, do: func(c *call) (string, error) {
		known, err := catalogueOf(catalogue)
		if err != nil {
			return "", err
		}
		if err := c.open(c.editing(known)); err != nil {
			return "", err
		}
		if lines != "" {
			return publishLines(c, lines)
		}
		return publishOne(c, path, one)
	}})
	catalogueFlag(cmd, &catalogue)
	flags := cmd.Flags()
	flags.StringVar(&path, "payload", "", "`file` with the payload; - for standard input")
	flags.StringVar(&lines, "lines", "", "`file` with an event a line; - for standard input")
	flags.StringVar(&one.DedupeKey, "dedupe-key", "", "publish nothing if an event of the type has this `key` already")
	flags.StringToStringVar(&one.Metadata, "metadata", nil, "a text beside the payload, as `key=value`; may be repeated")
	flags.Lookup("metadata").DefValue = "" // not []
	flags.Var((*cli.Span)(&one.Delay), "delay", "deliver it no earlier than after this `time`, such as 10m")
	for _, flag := range []string{"payload", "dedupe-key", "metadata", "delay"} {
		cmd.MarkFlagsMutuallyExclusive("lines", flag)
	}
	return cmd
}

// publishOne publishes the event of the command line.
func publishOne(c *call, path string, one inspect.NewEvent) (string, error) {
	var err error
	switch {
	case len(c.args) == 0:
		return "", fmt.Errorf("%s needs an event type behind the file, or --lines: see \"%[1]s --help\"", c.cmd.CommandPath())
	case len(c.args) == 2 && path != "":
		return "", errors.New("there are two payloads: one on the command line, and that of --payload")
	case len(c.args) == 2:
		one.Payload = []byte(c.args[1])
	case path != "" && path != "-":
		one.Payload, err = parse.Disk{}.ReadFile(path)
	case path == "" && terminal.IsTerminal(c.cmd.InOrStdin()):
		return "", errors.New(`there is no payload: write its JSON behind the event type, or name a file with --payload`)
	default:
		one.Payload, err = io.ReadAll(c.cmd.InOrStdin())
	}
	if err != nil {
		return "", err
	}
	one.Type = c.args[0]
	done, err := c.file.Publish(c.context(), []inspect.NewEvent{one})
	if invalid, ok := errors.AsType[*inspect.InvalidEventError](err); ok {
		return "", refusedEvent(fmt.Errorf("nothing was published: %w", invalid.Err))
	}
	if err != nil {
		return "", err
	}
	return c.published([]inspect.NewEvent{one}, done)
}

// refusedEvent is the answer no, unless the error has an exit status of its own.
func refusedEvent(err error) error {
	if _, missing := errors.AsType[*event.NotFoundError](err); missing {
		return err
	}
	return cli.No(err)
}

// published reports what became of events, a line for each.
func (c *call) published(events []inspect.NewEvent, done []inspect.Published) (string, error) {
	var report strings.Builder
	for i, p := range done {
		line := fmt.Sprintf("published %s %s\n", terminal.Clean(events[i].Type), p.ID)
		if p.Duplicate {
			line = fmt.Sprintf("%s %s has the key already: nothing was published\n", terminal.Clean(events[i].Type), p.ID)
		}
		if c.json {
			var err error
			line, err = cli.Line(struct {
				ID        uuid.UUID `json:"id"`
				Type      string    `json:"type"`
				Duplicate bool      `json:"duplicate"`
			}{p.ID, events[i].Type, p.Duplicate})
			if err != nil {
				return "", err
			}
		}
		report.WriteString(line)
	}
	return report.String(), nil
}

// publishedTogether is how many lines are published in one transaction.
const publishedTogether = 500

// publishLines publishes the events of a file.
func publishLines(c *call, path string) (string, error) {
	if len(c.args) > 0 {
		return "", fmt.Errorf("with --lines each line has its type: leave out %q", c.args[0])
	}
	in := c.cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	p := &publishing{c: c}
	err := p.read(bufio.NewReader(in))
	if addErr := p.publish(); addErr != nil {
		err = addErr // of an earlier line
	}
	total := fmt.Sprintf("published %s", terminal.Counted(p.stored, "event"))
	if p.duplicates > 0 {
		total += fmt.Sprintf("; %s had been published before", terminal.Counted(p.duplicates, "event"))
	}
	if err != nil {
		if p.stored+p.duplicates == 0 {
			total = "nothing was published"
		}
		return "", fmt.Errorf("%w; before that: %s", err, total)
	}
	if c.json {
		return "", nil
	}
	return total + "\n", nil
}

// publishing publishes lines in steps.
type publishing struct {
	c                  *call
	events             []inspect.NewEvent
	lines              []int // of events
	stored, duplicates int
}

// read takes one line after the other.
func (p *publishing) read(r *bufio.Reader) error {
	for line := 1; ; line++ {
		text, end := r.ReadBytes('\n')
		if end != nil && end != io.EOF {
			return end
		}
		if len(bytes.TrimSpace(text)) > 0 {
			one, err := eventOfLine(text)
			if err != nil {
				return cli.No(fmt.Errorf("line %d: %w", line, err))
			}
			p.events, p.lines = append(p.events, one), append(p.lines, line)
		}
		if end == io.EOF {
			return nil
		}
		if len(p.events) == publishedTogether {
			if err := p.publish(); err != nil {
				return err
			}
		}
	}
}

// eventOfLine reads one line.
func eventOfLine(text []byte) (inspect.NewEvent, error) {
	var line struct {
		Type      string            `json:"type"`
		Payload   json.RawMessage   `json:"payload"`
		Metadata  map[string]string `json:"metadata"`
		DedupeKey string            `json:"dedupe_key"`
		Delay     string            `json:"delay"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return inspect.NewEvent{}, fmt.Errorf("it is no JSON object with type, payload, metadata, dedupe_key and delay: %w", err)
	}
	if len(bytes.TrimSpace(text[decoder.InputOffset():])) > 0 {
		return inspect.NewEvent{}, errors.New("there is more behind the object")
	}
	one := inspect.NewEvent{Type: line.Type, Payload: line.Payload, Metadata: line.Metadata, DedupeKey: line.DedupeKey}
	switch {
	case line.Type == "":
		return one, errors.New("it has no type")
	case len(line.Payload) == 0:
		return one, errors.New("it has no payload")
	case line.Delay != "":
		var delay cli.Span
		if err := delay.Set(line.Delay); err != nil {
			return one, fmt.Errorf("its delay %q: %w", line.Delay, err)
		}
		one.Delay = time.Duration(delay)
	}
	return one, nil
}

// publish publishes what was read.
func (p *publishing) publish() error {
	if len(p.events) == 0 {
		return nil
	}
	done, err := p.c.file.Publish(p.c.context(), p.events)
	if invalid, ok := errors.AsType[*inspect.InvalidEventError](err); ok {
		err = refusedEvent(fmt.Errorf("line %d: %w", p.lines[invalid.Index], invalid.Err))
	}
	if err == nil && p.c.json {
		var text string
		if text, err = p.c.published(p.events, done); err == nil {
			_, err = io.WriteString(p.c.cmd.OutOrStdout(), text)
		}
	}
	for _, one := range done {
		if one.Duplicate {
			p.duplicates++
		} else {
			p.stored++
		}
	}
	p.events, p.lines = p.events[:0], p.lines[:0]
	return err
}
