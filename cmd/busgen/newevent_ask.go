package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/busgen/busgen/internal/console"
	"github.com/busgen/busgen/internal/edit"
)

// A person answers questions, line by line.
type person struct {
	ctx context.Context
	in  *bufio.Reader
	out io.Writer
}

// errGone says that nobody answers any more.
var errGone = &negative{errors.New("the input has ended; nothing was changed")}

// ask returns the answer to a question, without the space around it.
func (p *person) ask(question string) (string, error) {
	if _, err := fmt.Fprint(p.out, question); err != nil {
		return "", err
	}
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := p.in.ReadString('\n')
		lines <- line{strings.TrimSpace(text), err}
	}()
	select {
	case l := <-lines:
		if l.err == io.EOF && l.text == "" {
			fmt.Fprintln(p.out)
			return "", errGone
		}
		if l.err != nil && l.err != io.EOF {
			return "", l.err
		}
		return l.text, nil
	case <-p.ctx.Done():
		return "", p.ctx.Err()
	}
}

// until asks until check has nothing against the answer.
func (p *person) until(question string, check func(answer string) error) error {
	for {
		answer, err := p.ask(question)
		if err != nil {
			return err
		}
		err = check(answer)
		if err == nil {
			return nil
		}
		fmt.Fprintf(p.out, "  %s\n", console.Clean(err.Error()))
	}
}

// event asks for what an event lacks. Each answer is one that the catalogue can take.
func (p *person) event(c *edit.Catalogue, e *edit.Event) error {
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
		err := p.until("Name of the event, as in order.placed: ", func(answer string) error {
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
		err := p.until("What happened, in a sentence (or nothing): ", func(answer string) error {
			described := *e
			described.Doc = answer
			return takes(described)
		})
		if err != nil {
			return err
		}
	}
	if err := p.fields(e, takes); err != nil || len(e.Fields) == 0 || e.PartitionBy != "" {
		return err
	}
	return p.until("Field by which events are kept in order (or nothing): ", func(answer string) error {
		ordered := *e
		ordered.PartitionBy = answer
		return takes(ordered)
	})
}

// fields asks for fields, up to an empty line.
func (p *person) fields(e *edit.Event, takes func(edit.Event) error) error {
	fmt.Fprint(p.out, "What it carries, a field on each line, and an empty line at the end:\n"+
		"order_id: uuid, or, with a comment, note: string? What the customer wrote.\n")
	for more := true; more; {
		err := p.until("> ", func(answer string) error {
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

// fieldIn reads name: type, with a comment behind it or not.
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

// confirmed shows a change and asks whether to make it.
func (p *person) confirmed(before *edit.Catalogue, change *edit.Change) error {
	var files []string
	for _, file := range change.Files {
		files = append(files, file.Name)
	}
	answer, err := p.ask("\n" + differences(before, change) + "\nChange " + strings.Join(files, ", ") + "? [y/N] ")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		return &negative{errors.New("nothing was changed")}
	}
	return nil
}
