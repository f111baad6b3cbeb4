package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNobody is returned when there is nobody to ask.
var ErrNobody = errors.New("there is no terminal to ask on")

// Confirm asks a question, and reports whether the answer begins with y. If
// input or output is not a terminal the error is [ErrNobody].
func Confirm(input io.Reader, output io.Writer, question string) (bool, error) {
	if !IsTerminal(input) || !IsTerminal(output) {
		return false, ErrNobody
	}
	return ask(input, output, question)
}

// ask takes the end of the input for a no.
func ask(input io.Reader, output io.Writer, question string) (bool, error) {
	if _, err := fmt.Fprintf(output, "%s [y/N] ", Clean(question)); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(input).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return strings.HasPrefix(answer, "y"), nil
}
