// Package clitest runs command lines in process, as a user types them, and
// compares what they print. It is for the tests of the verbs.
//
// A [Command] makes the root command with the verbs that a test needs, and runs
// it in the current folder; [InFolder] makes a folder for a test. [OrderType] and
// [PaymentType] are events for the file of a bus.
package clitest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
)

// A Command makes a root command. Each run has a new one.
type Command func() *cobra.Command

// Exec runs the command with these arguments, and returns the exit status.
func (c Command) Exec(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(ctx, c(), args, stdin, stdout, stderr)
}

// Run runs a command line without the word busgen, such as "check events.yaml".
// Its arguments have no blanks and no quotes, and there is no input.
func (c Command) Run(t *testing.T, line string) Result {
	t.Helper()
	return c.result(t.Context(), strings.Fields(line), "")
}

// Typed runs a command line that begins with busgen, with quotes and input. If it
// goes on until it is interrupted, it is interrupted after three seconds; if it serves a
// page, as soon as it has printed something, because virtual time does not pass meanwhile.
func (c Command) Typed(t *testing.T, line, stdin string) Result {
	t.Helper()
	words := Split(t, line)
	if len(words) == 0 || words[0] != "busgen" {
		t.Fatalf("%q does not begin with busgen", line)
	}
	ctx := t.Context()
	if slices.Contains(words, "--watch") && !slices.Contains(words, "--count") || slices.Contains(words, "tail") && !slices.Contains(words, "--help") {
		var interrupt context.CancelFunc
		ctx, interrupt = context.WithTimeout(ctx, 3500*time.Millisecond)
		defer interrupt()
	}
	var printed func()
	if slices.Contains(words, "inspect") && !slices.Contains(words, "--help") {
		ctx, printed = context.WithCancel(ctx)
		defer printed()
	}
	return c.resultUntil(ctx, words[1:], stdin, printed)
}

// Does runs a command line as [Command.Typed] does. It must work, and the report
// is returned.
func (c Command) Does(t *testing.T, line string) string {
	t.Helper()
	got := c.Typed(t, line, "")
	if got.Status != 0 || got.Stderr != "" {
		t.Fatalf("%s: status %d\n%s", line, got.Status, got.Stderr)
	}
	return got.Stdout
}

func (c Command) result(ctx context.Context, args []string, stdin string) Result {
	return c.resultUntil(ctx, args, stdin, nil)
}

// resultUntil calls printed, unless it is nil, whenever something is printed.
func (c Command) resultUntil(ctx context.Context, args []string, stdin string, printed func()) Result {
	stdout, stderr := &heard{printed: printed}, &heard{}
	status := c.Exec(ctx, args, strings.NewReader(stdin), stdout, stderr)
	return Result{status, stdout.String(), stderr.String()}
}

// heard is an output that calls a function, unless it is nil, after each write.
type heard struct {
	bytes.Buffer
	printed func()
}

func (h *heard) Write(p []byte) (int, error) {
	defer func() {
		if h.printed != nil {
			h.printed()
		}
	}()
	return h.Buffer.Write(p)
}

// Result has what a user of the command sees.
type Result struct {
	Status         int
	Stdout, Stderr string
}

// Wants wants exactly this result.
func (r Result) Wants(t *testing.T, status int, stdout, stderr string) {
	t.Helper()
	if want := (Result{status, stdout, stderr}); r != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, r))
	}
}

// WantsErrors wants texts on stderr, in this order, and nothing on stdout.
func (r Result) WantsErrors(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.Status != status || r.Stdout != "" {
		t.Errorf("status %d with %q on stdout, want %d with nothing", r.Status, r.Stdout, status)
	}
	rest := r.Stderr
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("stderr lacks %q at its place:\n%s", text, r.Stderr)
		}
		rest = after
	}
}

// Split separates the words of a command line as a shell does.
func Split(t *testing.T, line string) (words []string) {
	t.Helper()
	var word strings.Builder
	quote, began := rune(0), false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, began = c, true
		case quote == 0 && c == ' ':
			if began {
				words = append(words, word.String())
			}
			word.Reset()
			began = false
		default:
			word.WriteRune(c)
			began = true
		}
	}
	if quote != 0 {
		t.Fatalf("%s: the quote is not closed", line)
	}
	if began {
		words = append(words, word.String())
	}
	return words
}

// Output is an output that can be read while it is written. The zero Output is
// empty.
type Output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(p)
}

// Take returns what was written since the last time.
func (o *Output) Take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.all.Reset()
	return o.all.String()
}
