package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNobody says that no person can be asked.
var ErrNobody = errors.New("cannot ask, because there is no terminal")

// Confirm asks a person a question, and reports whether the answer begins with y.
// The end of the input means no. The error is [ErrNobody] if input or output is
// not a terminal, and that of ctx if ctx ends before there is an answer.
func Confirm(ctx context.Context, input io.Reader, output io.Writer, question string) (bool, error) {
	if !IsTerminal(input) || !IsTerminal(output) {
		return false, ErrNobody
	}
	if _, err := fmt.Fprintf(output, "%s [y/N] ", Clean(question)); err != nil {
		return false, err
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(input).ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case l := <-lines:
		if l.err != nil && l.err != io.EOF {
			return false, l.err
		}
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(l.text)), "y"), nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
