package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// lookAfterTheDead does the work of an operator in the morning: it lists the dead letters
// by cause, repairs a cause, and retries one of them. It needs only the file, so it could
// run in another process.
func (s *shop) lookAfterTheDead(ctx context.Context, db string, out io.Writer) error {
	file, err := inspect.Open(ctx, db)
	if err != nil {
		return err
	}
	defer file.Close()

	total, err := file.CountDeadLetters(ctx, event.Filter{})
	if err != nil {
		return err
	}
	if total == 0 {
		fmt.Fprintln(out, "\nThere are no dead letters.")
		return nil
	}
	letters, _, err := file.DeadLetters(ctx, event.Filter{}, event.Page{}) // the newest hundred
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d dead letters, newest first:\n", total)
	printLetters(out, letters)
	if older := total - len(letters); older > 0 {
		fmt.Fprintf(out, "  and %d older ones\n", older)
	}

	i := slices.IndexFunc(letters, func(l event.DeadLetter) bool { return l.Subscription == events.OnOrderPlacedSendReceipt.String() })
	if i < 0 {
		return nil
	}
	s.mail.repaired.Store(true)
	fmt.Fprintf(out, "\n%s is repaired. Retrying %s for %s … ", brokenProvider, subject(letters[i]), letters[i].Subscription)
	return s.retry(ctx, file, letters[i].Key, out)
}

// retry gives one dead letter back to its subscription. The running bus
// notices, and calls the handler again with a fresh count of attempts.
func (s *shop) retry(ctx context.Context, file *inspect.File, key event.Key, out io.Writer) error {
	if _, err := file.Retry(ctx, inspect.Only(key)); err != nil {
		return err
	}
	if err := s.bus.WaitIdle(ctx); err != nil {
		return err
	}
	_, err := file.DeadLetter(ctx, key)
	if _, gone := errors.AsType[*event.NotFoundError](err); !gone {
		return errors.Join(fmt.Errorf("event %s is dead again", key.EventID), err)
	}
	status, err := s.promises.status(ctx, key.EventID)
	if err != nil {
		return err
	}
	left, err := file.CountDeadLetters(ctx, event.Filter{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "handled.\nIts status is %q now; %d dead letters remain.\n", status, left)
	return s.printTree(ctx, key.EventID, out)
}

// printLetters prints the dead letters, grouped by cause.
func printLetters(out io.Writer, letters []event.DeadLetter) {
	const shown = 5
	type cause struct{ subscription, reason, err, place string }
	var causes []cause // the one that killed last comes first
	victims := map[cause][]string{}
	for _, l := range letters {
		c := cause{l.Subscription, l.Reason, l.LastAttempt().Error, placeOf(l)}
		if victims[c] == nil {
			causes = append(causes, c)
		}
		victims[c] = append(victims[c], subject(l))
	}
	for _, c := range causes {
		dead := victims[c]
		fmt.Fprintf(out, "  %d given up by %s (%s)\n      %s%s\n      %s", len(dead), c.subscription, c.reason, c.err, c.place,
			strings.Join(dead[:min(shown, len(dead))], ", "))
		if more := len(dead) - shown; more > 0 {
			fmt.Fprintf(out, " and %d more", more)
		}
		fmt.Fprintln(out)
	}
}

// subject says what a dead letter is about: the number of the order, or the id
// of an event that has none.
func subject(l event.DeadLetter) string {
	var order events.OrderPlaced
	if l.Type == events.OrderPlacedType.Name() && json.Unmarshal(l.Payload, &order) == nil {
		return fmt.Sprintf("order %d", order.Number)
	}
	return l.Type + " " + l.EventID.String()
}

// placeOf finds the line of this program in the stack of a panic: the first
// one that is in this folder.
func placeOf(l event.DeadLetter) string {
	if len(l.Attempts) == 0 {
		return ""
	}
	for line := range strings.Lines(l.Attempts[len(l.Attempts)-1].Stack) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(file, "examples/shop/") && strings.Contains(file, ".go:") {
			return " at " + filepath.Base(file)
		}
	}
	return ""
}
