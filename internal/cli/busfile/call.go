package busfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// call is one call of a verb about the file of a bus.
type call struct {
	cmd    *cobra.Command
	on     cli.Engines
	target string   // the file, or an address
	path   string   // the same without a password, to be shown
	args   []string // after it
	screen terminal.Screen
	now    time.Time

	json       bool
	maxPayload int  // bytes; 0 for no limit
	sensitive  bool // show the values of sensitive fields
	utc        bool // show times, not how long ago they were
	yes        bool
	actor      string
	because    string
	undo       bool

	file *inspect.File // nil for a verb that opens the file itself, until it does
}

// fileVerb describes a verb whose first argument is the file of a bus.
type fileVerb struct {
	takes   arguments // after the file
	changes bool      // leaves audit rows, so it has --actor
	asks    bool      // destroys something, so it has --yes
	reasons bool      // needs a reason, so it has --because
	undoes  bool      // undoes what it does, so it has --undo, which needs neither reason nor question
	shows   bool      // shows payloads, so it has --max-payload
	quotes  bool      // shows payloads or errors, or looks for a text in them, so it has --show-sensitive
	works   bool      // works with payloads as they are stored
	times   bool      // shows times, so it has --utc
	exports bool      // prints JSON anyway, so it has no --json
	opens   bool      // opens the file itself
	do      func(c *call) (report string, err error)
}

// onFile completes the command of a fileVerb: its arguments and common flags,
// and what runs it.
func onFile(on cli.Engines, cmd *cobra.Command, v fileVerb) *cobra.Command {
	c := &call{cmd: cmd, on: on}
	cmd.Args = v.takes.check
	cmd.ValidArgsFunction = v.takes.completer(on)
	flags := cmd.Flags()
	if !v.exports {
		flags.BoolVar(&c.json, "json", false, "print JSON, for programs")
	}
	if v.shows {
		flags.Var((*cli.Number)(&c.maxPayload), "max-payload", "show at most this many `bytes` of a payload (default: all)")
	}
	if v.shows || v.quotes {
		flags.BoolVar(&c.sensitive, "show-sensitive", false,
			"show the values of fields that the catalogue calls sensitive, and let --text find them")
	}
	if v.works {
		c.sensitive = true
	}
	if v.times {
		flags.BoolVar(&c.utc, "utc", false, "show times as they are (UTC), and not how long ago they were")
	}
	if v.asks {
		flags.BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	}
	if v.reasons {
		flags.StringVar(&c.because, "because", "", "the `reason`, in a few words")
	}
	if v.undoes {
		flags.BoolVar(&c.undo, "undo", false, "undo discards instead, by an operator or by a handler")
	}
	if v.changes {
		flags.StringVar(&c.actor, "actor", "", "`name` for the audit (default user@host)")
	}
	cmd.RunE = cli.Report(func(args []string) (string, error) {
		if err := noEmptyFlag(cmd); err != nil {
			return "", err
		}
		if c.maxPayload < 0 {
			return "", fmt.Errorf("--max-payload is %d: it must not be negative", c.maxPayload)
		}
		if v.reasons && c.because == "" && !c.undo {
			return "", errors.New("say why with --because, in a few words: it is kept with the events")
		}
		c.target, c.path, c.args = args[0], cli.Shown(args[0]), args[1:]
		c.screen, c.now = terminal.ScreenOf(cmd.OutOrStdout()), time.Now()
		defer c.close()
		if !v.opens {
			if err := c.open(); err != nil {
				return "", classified(err)
			}
		}
		report, err := v.do(c)
		return report, classified(err)
	})
	return cmd
}

// noEmptyFlag refuses a flag with an empty value, which a shell variable that is
// not set leads to. Without the flag the verb would take everything.
func noEmptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == "" ||
			strings.HasPrefix(f.Value.Type(), "string") && f.Value.String() == "[]"
		if empty && f.Name != "after" { // the first page has no mark
			err = fmt.Errorf("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// classified gives an error its exit status.
func classified(err error) error {
	var missing *event.NotFoundError
	var canary *inspect.CanaryError
	var owned *event.OwnedError
	var settled *event.NotOpenError
	var refused *inspect.InvalidPayloadError
	switch {
	case errors.As(err, &missing):
		if hint := diag.Nearest(missing.Name, missing.Known); hint != "" {
			err = fmt.Errorf("%w;%s", err, strings.TrimPrefix(hint, ":"))
		}
		return cli.NotFound(err)
	case errors.Is(err, inspect.ErrNobodyDispatches):
		return cli.NotFound(err)
	case errors.As(err, &owned):
		return fmt.Errorf("%w; this can be done only while no program dispatches: end it first", err)
	case errors.As(err, &settled), errors.As(err, &canary), errors.As(err, &refused):
		return cli.No(err)
	}
	return err
}

func (c *call) context() context.Context { return c.cmd.Context() }

// open opens the file, with the given options, until the verb ends or close is
// called. What is open stays as it is, without options.
func (c *call) open(opts ...inspect.Option) (err error) {
	if c.file != nil && len(opts) == 0 {
		return nil
	}
	if c.actor != "" {
		opts = append(opts, inspect.WithActor(c.actor))
	}
	if c.file, err = c.on.Open(c.context(), c.target, opts...); err == nil && !c.sensitive {
		c.file = c.file.Hiding()
	}
	return err
}

// close closes the file, unless it is not open.
func (c *call) close() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

// release closes a file between two looks. Servers do not mind open inspections.
func (c *call) release() {
	if !cli.IsAddress(c.target) {
		c.close()
	}
}

// confirm asks before something is destroyed, unless --yes is given. The error
// says that the answer was no.
func (c *call) confirm(question string) error {
	if c.yes {
		return nil
	}
	ok, err := terminal.Confirm(c.context(), c.cmd.InOrStdin(), c.cmd.ErrOrStderr(), question)
	switch {
	case errors.Is(err, terminal.ErrNobody):
		return fmt.Errorf("%w: %s If so, say --yes", err, question)
	case err == nil && !ok:
		return cli.No(errors.New("nothing was changed"))
	}
	return err
}

// ago formats a time for a table: how far it is from now or, with --utc, the
// time itself.
func (c *call) ago(t time.Time) string {
	if c.utc && !t.IsZero() {
		return t.UTC().Format("2006-01-02 15:04:05")
	}
	return terminal.Ago(t, c.now)
}

// moment formats a time with its distance from now or, with --utc, with
// milliseconds.
func (c *call) moment(t time.Time) string {
	if c.utc && !t.IsZero() {
		return t.UTC().Format("2006-01-02 15:04:05.000 UTC")
	}
	return terminal.Time(t, c.now)
}

// payload returns a payload for JSON output. One that is longer than
// --max-payload is replaced by a text that says so.
func (c *call) payload(payload json.RawMessage) json.RawMessage {
	if c.maxPayload == 0 || len(payload) <= c.maxPayload {
		return payload
	}
	text, _ := json.Marshal(fmt.Sprintf("(%s bytes, more than --max-payload)",
		terminal.Number(len(payload)))) // a text cannot fail
	return text
}

// payloadText formats a payload for people, up to --max-payload.
func (c *call) payloadText(payload []byte) string {
	text, rest := payload, 0
	if c.maxPayload > 0 && len(payload) > c.maxPayload {
		text, rest = payload[:c.maxPayload], len(payload)-c.maxPayload
	}
	shown := "\nPayload\n" + indented(text)
	if rest > 0 {
		shown += "  … and " + terminal.Number(rest) + " more bytes of the payload\n"
	}
	return shown
}

// line is a command line on the same bus, to be copied.
func (c *call) line(verb string) string { return commandline.Of(verb, nil, c.path) }

// progress says on standard error how far work is that begins now: to people on a terminal, and with --json in lines.
func (c *call) progress() *terminal.Progress {
	return terminal.NewProgress(c.cmd.ErrOrStderr(), c.json)
}

// tell writes a remark to standard error.
func (c *call) tell(format string, args ...any) {
	fmt.Fprintf(c.cmd.ErrOrStderr(), format+"\n", args...)
}
