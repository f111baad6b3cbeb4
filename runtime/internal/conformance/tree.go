package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

var errNoMoney = errors.New("the card has no money")

// family makes a bus whose biller publishes two payments for each order, of which the
// accountant refuses the first for good, after an attempt that fails, and publishes an
// order of number 0 for the second, which has no children. Nobody handles that one for an
// hour.
func (env *Env) family(t *testing.T) *Fixture {
	f := env.Open(t)
	f.Handle("biller", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		if e.Payload.Number == 0 {
			return nil
		}
		for _, id := range []string{"one", "two"} {
			if _, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: id}); err != nil {
				return err
			}
		}
		return nil
	})
	_, err := runtime.Subscribe(f.Bus, PaidType, "accountant", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
		switch {
		case e.Attempt == 1:
			return errors.New("busy")
		case e.Payload.OrderID == "one":
			return runtime.Permanent(errNoMoney)
		}
		_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{}, runtime.WithDelay(time.Hour))
		return err
	})
	Must(t, err)
	f.MustStart()
	return f
}

// familyTree draws a tree on lines, with the states of deliveries.
func familyTree(node *event.TreeNode, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s", indent, node.Type)
	if node.PublishedBy != "" {
		fmt.Fprintf(&b, " by %s", node.PublishedBy)
	}
	for _, d := range node.Deliveries {
		fmt.Fprintf(&b, ", %s %s %d", d.Subscription, d.State, d.Failures)
	}
	if node.Truncated {
		b.WriteString(", truncated")
	}
	b.WriteString("\n")
	for _, child := range node.Children {
		b.WriteString(familyTree(child, indent+"  "))
	}
	return b.String()
}

func (env *Env) TestATreeHasTheDescendantsOfAnEventWithTheirDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.family(t)
		root := f.Publish(1)[0]
		f.Publish(2)
		time.Sleep(2 * time.Hour)
		f.Idle()
		want := `order.placed, biller done 0
  order.paid by biller, accountant dead 2
  order.paid by biller, accountant done 1
    order.placed by accountant, biller done 0
`
		tree, err := runtime.Tree(t.Context(), f.Bus, root.ID)
		Must(t, err)
		if got := familyTree(tree, ""); got != want {
			t.Errorf("the tree is\n%s\nwant\n%s", got, want)
		}
		if a := tree.Children[0].Deliveries[0].Attempts; len(a) != 2 || a[1].Error != errNoMoney.Error() {
			t.Errorf("the attempts are %+v", a)
		}
		file := f.peek().file
		again, err := file.Tree(t.Context(), root.ID)
		Must(t, err)
		if got := familyTree(again, ""); got != want {
			t.Errorf("from outside the tree is\n%s\nwant\n%s", got, want)
		}
		leaf := tree.Children[1].Children[0]
		for _, id := range []uuid.UUID{root.ID, leaf.ParentID, leaf.ID} {
			if got, err := file.Root(t.Context(), id); err != nil || got != root.ID {
				t.Errorf("the root of %s is %s, %v", id, got, err)
			}
		}
		for _, try := range []func() error{
			func() error { _, err := runtime.Tree(t.Context(), f.Bus, uuid.Max); return err },
			func() error { _, err := file.Tree(t.Context(), uuid.Max); return err },
			func() error { _, err := file.Root(t.Context(), uuid.Max); return err },
		} {
			var missing *event.NotFoundError
			if err := try(); !errors.As(err, &missing) {
				t.Errorf("of an event that is not there: %v", err)
			}
		}
		f.Stop()
		if _, err := runtime.Tree(t.Context(), f.Bus, root.ID); !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("after the shutdown: %v", err)
		}
	})
}

func (env *Env) TestWaitTreeWaitsForAllDescendants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.family(t)
		root := f.Publish(1)[0]
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		some, err := root.WaitTree(short)
		if !errors.Is(err, context.DeadlineExceeded) || since(began) != time.Minute || len(some.Outcomes) != 3 {
			t.Errorf("after %v: %d outcomes, %v", since(began), len(some.Outcomes), err)
		}
		tree, err := root.WaitTree(t.Context())
		Must(t, err)
		if took := since(began); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("it took %v", took)
		}
		if len(tree.Outcomes) != 4 || tree.Outcomes[0].ID != root.ID || tree.Outcomes[0].Err() != nil {
			t.Errorf("the outcomes are %+v", tree.Outcomes)
		}
		var dead *runtime.DeadLetteredError
		if err := tree.Err(); !errors.As(err, &dead) || dead.ID != tree.Outcomes[1].ID || !errors.Is(err, errNoMoney) {
			t.Errorf("the error is %v", err)
		}
		leaf := runtime.TreeOutcome{Outcomes: tree.Outcomes[2:]}
		if err := leaf.Err(); err != nil {
			t.Errorf("without the dead letter the error is %v", err)
		}
	})
}

func (env *Env) TestWaitTreeEndsWithTheBusAndNotForStagedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			receipt, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			if err != nil {
				return err
			}
			if _, err := receipt.WaitTree(ctx); !errors.Is(err, runtime.ErrStaged) {
				t.Errorf("of a staged event: %v", err)
			}
			return nil
		})
		_, err := runtime.Subscribe(f.Bus, PaidType, "child", func(context.Context, runtime.Event[OrderPaid]) error {
			return runtime.Snooze(time.Hour)
		})
		Must(t, err)
		f.MustStart()
		root := f.Publish(1)[0]
		ended := make(chan error)
		go func() { _, err := root.WaitTree(t.Context()); ended <- err }()
		time.Sleep(time.Minute)
		f.Stop()
		if err := <-ended; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("after the shutdown: %v", err)
		}
	})
}

// What a handler publishes at once is a child like any other, and the handler can wait for
// all that comes of it, with one worker for all of them.
func (env *Env) TestAHandlerWaitsForTheTreeOfWhatItPublishesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var outcomes Journal[int]
		f.Handle("nested", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 0 {
				return nil
			}
			opts := []runtime.PublishOption{}
			if e.Payload.Number == 3 {
				opts = append(opts, runtime.Immediately())
			}
			receipt, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{Number: e.Payload.Number - 1}, opts...)
			if err != nil || e.Payload.Number < 3 {
				return err
			}
			tree, err := receipt.WaitTree(ctx)
			outcomes.Add(len(tree.Outcomes))
			return errors.Join(err, tree.Err())
		})
		f.MustStart()
		root := f.Publish(3)[0]
		f.Idle()
		if got := outcomes.All(); len(got) != 1 || got[0] != 3 {
			t.Errorf("the handler has waited for %v events, want 3", got)
		}
		tree, err := runtime.Tree(t.Context(), f.Bus, root.ID)
		Must(t, err)
		const want = `order.placed, nested done 0
  order.placed by nested, nested done 0
    order.placed by nested, nested done 0
      order.placed by nested, nested done 0
`
		if got := familyTree(tree, ""); got != want {
			t.Errorf("the tree is\n%s\nwant\n%s", got, want)
		}
	})
}
