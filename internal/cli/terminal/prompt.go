package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNobody says that there is nobody to ask.
var ErrNobody = errors.New("cannot ask, because there is no terminal")

// Prompt asks a person questions, line by line. It is not safe for concurrent
// use.
type Prompt struct {
	In  *bufio.Reader
	Out io.Writer
}

// PromptOn returns a prompt. If input or output is not a terminal the error is
// [ErrNobody].
func PromptOn(input io.Reader, output io.Writer) (*Prompt, error) {
	if !IsTerminal(input) || !IsTerminal(output) {
		return nil, ErrNobody
	}
	return &Prompt{bufio.NewReader(input), output}, nil
}

// Ask writes a question and returns the answer, without the space around it.
// The error is io.EOF at the end of the input, and that of ctx if ctx ends
// before there is an answer.
func (p *Prompt) Ask(ctx context.Context, question string) (string, error) {
	if _, err := io.WriteString(p.Out, question); err != nil {
		return "", err
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := p.In.ReadString('\n')
		lines <- line{strings.TrimSpace(text), err}
	}()
	select {
	case l := <-lines:
		if l.err == io.EOF && l.text != "" {
			l.err = nil
		}
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Confirm asks a question, and reports whether the answer begins with y. The
// end of the input means no.
func (p *Prompt) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := p.Ask(ctx, fmt.Sprintf("%s [y/N] ", Clean(question)))
	if err != nil && err != io.EOF {
		return false, err
	}
	return strings.HasPrefix(strings.ToLower(answer), "y"), nil
}
