package busfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime/inspect"
)

func newDLQEdit(on cli.Engines) *cobra.Command {
	var catalogue, path string
	cmd := onFile(on, &cobra.Command{
		Use:   "edit FILE ID[/SUBSCRIPTION]",
		Short: "Correct the payload of a dead letter, and have it handled",
		Long: `Edit makes a new event from a dead letter, with a payload that you correct, for
the one subscription that had failed. The dead letter is settled; both events
name each other. Nothing is changed if the new payload does not fit the schema
of its event type, or if somebody has dealt with the dead letter meanwhile.

The schema is that of the catalogue if --catalogue names one, else the one in
FILE: a program stores the schemas of its generated code when it opens its bus.
Standard error says which program stored it, and when. If there are several
versions, the newest counts. For a custom Go type, only the form of its JSON is
checked.

The payload comes from the file that --payload names, or from standard input if
that is not a terminal, or else from $VISUAL or $EDITOR, which opens the old
one.

With --json: event_id (the new one), subscription, made_from; with the schema of
FILE schema, with version, program, stored_at.

Exit status: 0 done, 1 the payload was refused or not changed, 2 trouble, 3
there is no such dead letter.`,
		Example: `  busgen dlq edit shop.db 018f4f2e-1c3a-7b21 --payload fixed.json
  busgen dlq edit shop.db 018f4f2e-1c3a-7b21 --catalogue events.yaml < fixed.json`,
	}, fileVerb{takes: oneLetter, works: true, changes: true, opens: true, do: func(c *call) (string, error) {
		return editLetter(c, catalogue, path)
	}})
	catalogueFlag(cmd, &catalogue)
	cmd.Flags().StringVar(&path, "payload", "", "`file` with the new payload; - for standard input")
	return cmd
}

func editLetter(c *call, catalogue, path string) (string, error) {
	var check *payloadCheck
	fits, err := catalogueOf(catalogue)
	if err != nil {
		return "", err
	}
	if err := c.open(inspect.WithEditing(func(_ string, version int, payload []byte) error {
		return check.of(version, payload)
	})); err != nil {
		return "", err
	}
	key, err := c.letter()
	if err != nil {
		return "", err
	}
	old, err := c.file.DeadLetter(c.context(), key)
	if err != nil {
		return "", err
	}
	if fits != nil {
		check = &payloadCheck{catalogue: fits, eventType: old.Type}
	} else if check, err = c.storedSchema(old.Type); err != nil {
		return "", err
	} else {
		c.tell("checked with the schema of %s in %s: version %d, stored by %s on %s; --catalogue names another", old.Type,
			c.path, check.stored.Version,
			terminal.Clean(check.stored.Program), c.moment(check.stored.StoredAt))
	}
	if custom := payload.CustomTypes(check.catalogue, check.eventType, old.Version); len(custom) > 0 {
		c.tell("%s: of values of %s, which are custom Go types, only the form of their JSON is checked", old.Type,
			strings.Join(custom, ", "))
	}
	edited, draft, err := c.newPayload(path, old.Payload)
	if err != nil {
		return "", err
	}
	// A Ctrl-C in the editor must not cancel the edit.
	id, err := c.file.Edit(context.WithoutCancel(c.context()), key, edited)
	if err != nil {
		return "", draft.keptBecause(err)
	}
	draft.remove()
	if c.json {
		return cli.Document(struct {
			EventID      uuid.UUID   `json:"event_id"`
			Subscription string      `json:"subscription"`
			MadeFrom     uuid.UUID   `json:"made_from"`
			Schema       *schemaUsed `json:"schema,omitempty"`
		}{id, key.Subscription, key.EventID, check.stored})
	}
	return fmt.Sprintf("made event %s for %s from %s\n", id, terminal.Clean(key.Subscription), key.EventID), nil
}

// payloadCheck checks new payloads.
type payloadCheck struct {
	catalogue *catalog.Catalogue
	eventType string      // as the catalogue calls it
	stored    *schemaUsed // nil if the catalogue is a file
}

// schemaUsed says where a schema in the file of a bus comes from.
type schemaUsed struct {
	Version  int       `json:"version"`
	Program  string    `json:"program"`
	StoredAt time.Time `json:"stored_at"`
}

func (p *payloadCheck) of(version int, text []byte) error {
	return payload.Check(p.catalogue, p.eventType, version, text)
}

// editing lets payloads be edited, and checks them with the catalogue or, if it is nil, with
// the schema that the file has for their type.
func (c *call) editing(known *catalog.Catalogue) inspect.Option {
	return inspect.WithEditing(func(eventType string, version int, text []byte) (err error) {
		check := &payloadCheck{catalogue: known, eventType: eventType}
		if known == nil {
			if check, err = c.storedSchema(eventType); err != nil {
				return err
			}
		}
		return check.of(version, text)
	})
}

// storedSchema returns a check with the schema that a program has stored in the
// file.
func (c *call) storedSchema(eventType string) (*payloadCheck, error) {
	stored, err := c.file.Schema(c.context(), eventType)
	if err != nil {
		return nil, err
	}
	if stored.Text == "" {
		return nil, fmt.Errorf("%s has no schema of %s that the new payload could be checked with: name the catalogue "+
			"with --catalogue, "+
			"as in --catalogue events.yaml, or open the bus once with a program whose code this busgen has generated", c.path,
			eventType)
	}
	name := fmt.Sprintf("the schema of %s in %s", eventType, c.path)
	fits, err := schema.Read(name, stored.Text)
	if err != nil {
		return nil, fmt.Errorf("%w: use the busgen of the program that stored it (%s), or name the catalogue with "+
			"--catalogue", err, terminal.Clean(stored.Program))
	}
	return &payloadCheck{fits, fits.Events[0].Name.V, &schemaUsed{stored.Version, stored.Program, stored.StoredAt}}, nil
}

// newPayload reads the new payload from --payload, from standard input or from an
// editor. Only an editor leaves a draft.
func (c *call) newPayload(path string, old []byte) (text []byte, draft draft, err error) {
	switch {
	case path == "-" || path == "" && !terminal.IsTerminal(c.cmd.InOrStdin()):
		text, err = io.ReadAll(c.cmd.InOrStdin())
	case path != "":
		text, err = parse.Disk{}.ReadFile(path)
	default:
		return c.edit(old)
	}
	return text, "", err
}

// draft is a folder with the text that was edited; empty if there is none. The
// text is kept when the edit fails.
type draft string

const draftName = "payload.json"

func (d draft) remove() {
	if d != "" {
		os.RemoveAll(string(d))
	}
}

// keptBecause adds to an error where the text is kept.
func (d draft) keptBecause(err error) error {
	if d == "" {
		return err
	}
	return fmt.Errorf("%w; your text is in %s", err, filepath.Join(string(d), draftName))
}

// edit opens a payload in the user's editor, and returns the result.
func (c *call) edit(old []byte) (edited []byte, d draft, err error) {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	words := strings.Fields(editor)
	if len(words) == 0 {
		return nil, "", errors.New("there is no editor: set EDITOR, or give the new payload with --payload")
	}
	folder, err := os.MkdirTemp("", "busgen-edit-")
	if err != nil {
		return nil, "", err
	}
	d = draft(folder)
	text := filepath.Join(folder, draftName)
	var before bytes.Buffer
	if json.Indent(&before, old, "", "  ") != nil {
		before.Reset()
		before.Write(old)
	}
	if err := os.WriteFile(text, append(before.Bytes(), '\n'), 0o600); err != nil {
		return nil, "", err
	}
	command := exec.CommandContext(c.context(), words[0], append(words[1:], text)...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // the editor can save the text
	command.Stdin, command.Stdout, command.Stderr = c.cmd.InOrStdin(), c.cmd.OutOrStdout(), c.cmd.ErrOrStderr()
	defer cli.LendInterrupts()()
	if err := command.Run(); err != nil {
		return nil, "", d.keptBecause(fmt.Errorf("the editor %s failed: %w", words[0], err))
	}
	edited, err = os.ReadFile(text)
	if err == nil && bytes.Equal(bytes.TrimSpace(edited), before.Bytes()) {
		d.remove()
		err = cli.No(errors.New("the payload was not changed, so nothing else was"))
	}
	return edited, d, err
}
