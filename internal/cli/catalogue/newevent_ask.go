package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/edit"
)

// wizard asks a person for what is missing in a new event.
type wizard struct {
	*terminal.Prompt
	ctx context.Context
}

// ask returns the answer to a question. The end of the input is an error.
func (w *wizard) ask(question string) (string, error) {
	answer, err := w.Ask(w.ctx, question)
	if err == io.EOF {
		fmt.Fprintln(w.Out)
		err = cli.No(errors.New("the input has ended; nothing was changed"))
	}
	return answer, err
}

// until asks until check accepts the answer.
func (w *wizard) until(question string, check func(answer string) error) error {
	for {
		answer, err := w.ask(question)
		if err != nil {
			return err
		}
		err = check(answer)
		if err == nil {
			return nil
		}
		fmt.Fprintf(w.Out, "  %s\n", terminal.Clean(err.Error()))
	}
}

// event asks for what is missing in an event. It repeats a question until the
// catalogue accepts the answer.
func (w *wizard) event(c *edit.Catalogue, e *edit.Event) error {
	takes := func(changed edit.Event) error {
		_, err := edit.AddEvent(c, changed)
		var wrong *edit.RefusedError
		if errors.As(err, &wrong) {
			return errors.New(wrong.Reason())
		}
		if err == nil {
			*e = changed
		}
		return err
	}
	if e.Name == "" {
		err := w.until("Name of the event, as in order.placed: ", func(answer string) error {
			if answer == "" {
				return errors.New("it needs one")
			}
			named := *e
			named.Name = answer
			return takes(named)
		})
		if err != nil {
			return err
		}
	} else if err := takes(*e); err != nil {
		return err
	}
	if e.Doc == "" {
		err := w.until("What happened, in a sentence (or nothing): ", func(answer string) error {
			described := *e
			described.Doc = answer
			return takes(described)
		})
		if err != nil {
			return err
		}
	}
	if err := w.fields(e, takes); err != nil || len(e.Fields) == 0 || e.PartitionBy != "" {
		return err
	}
	return w.until("Field by which events are kept in order (or nothing): ", func(answer string) error {
		ordered := *e
		ordered.PartitionBy = answer
		return takes(ordered)
	})
}

// fields asks for fields, up to an empty line.
func (w *wizard) fields(e *edit.Event, takes func(edit.Event) error) error {
	fmt.Fprint(w.Out, "What it carries, a field on each line, and an empty line at the end:\n"+
		"order_id: uuid, or, with a comment, note: string? What the customer wrote.\n")
	for more := true; more; {
		err := w.until("> ", func(answer string) error {
			if more = answer != ""; !more {
				return nil
			}
			field, err := fieldIn(answer)
			if err != nil {
				return err
			}
			longer := *e
			longer.Fields = append(e.Fields[:len(e.Fields):len(e.Fields)], field)
			return takes(longer)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fieldIn reads name: type, with or without a comment after it.
func fieldIn(line string) (edit.Field, error) {
	name, rest, _ := strings.Cut(line, ":")
	kind, doc, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if short, more, found := strings.Cut(kind, ":"); found { // name:type:doc, as in --field
		kind, doc = short, strings.TrimSpace(more+" "+doc)
	}
	f := edit.Field{Name: strings.TrimSpace(name), Type: strings.Trim(kind, `"'`), Doc: strings.TrimSpace(doc)}
	if f.Name == "" || f.Type == "" {
		return edit.Field{}, errors.New("write a name, a colon and a type, as in order_id: uuid")
	}
	return f, nil
}

// confirmed shows a change, and asks whether to make it.
func (w *wizard) confirmed(before *edit.Catalogue, change *edit.Change) error {
	var files []string
	for _, file := range change.Files {
		files = append(files, file.Name)
	}
	fmt.Fprint(w.Out, "\n"+differences(before, change)+"\n")
	ok, err := w.Confirm(w.ctx, "Change "+strings.Join(files, ", ")+"?")
	if err == nil && !ok {
		err = cli.No(errors.New("nothing was changed"))
	}
	return err
}
