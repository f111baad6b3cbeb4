package runtime

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Tree returns an event of the bus with its descendants: the events that its handlers have
// published with their contexts, its dead-letter notices, and what their handlers have
// published in turn. It has at most 10,000 events, those nearest to the event first; a node
// whose children are not all there is Truncated.
//
// The events are read one after the other, so that a tree that grows may be read in part;
// [Receipt.WaitTree] waits until it is complete. Descendants of an event that was pruned
// ([WithRetention]) are missing. Tree may be called from any goroutine, in handlers too. The
// errors are:
//
//   - a *NotFoundError of package inspect, if the bus has no such event
//   - *[NotInspectableError], if the engine of the bus cannot list events
//   - [ErrShutdown], once the bus is shut down
//   - *[event.StorageError], when the file cannot be read
//   - the error of ctx, if it ends
func Tree(ctx context.Context, bus *Bus, id uuid.UUID) (*event.TreeNode, error) {
	b := busOf(bus)
	defer b.keep()
	history, err := b.history(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := engine.ReadTree(ctx, history, id, engine.TreeLimit)
	return tree, public(err)
}

// TreeOutcome says what became of an event and of all its descendants.
type TreeOutcome struct {
	Outcomes []Outcome // that of the event, and those of its descendants, parents before their children
}

// Err returns nil if [Outcome.Err] does for the event and each of its descendants. Otherwise it
// returns all of these errors, joined.
func (o TreeOutcome) Err() error {
	var errs []error
	for _, one := range o.Outcomes {
		errs = append(errs, one.Err())
	}
	return errors.Join(errs...)
}

// WaitTree waits until every subscription of the file has settled the event and all of its
// descendants: those that its handlers publish with their contexts, its dead-letter
// notices, and theirs in turn. It waits for an event, reads its children, and waits for
// them. Memory grows with the number of descendants. Delayed descendants are waited for,
// too: give ctx a deadline.
//
// The outcomes have no limit of 10,000, as [Tree] has. On an error the outcomes are those
// of the events that are settled. The errors are those of [Receipt.Wait], and a
// *[NotInspectableError] if the engine of the bus cannot list events.
func (r *Receipt) WaitTree(ctx context.Context) (TreeOutcome, error) {
	var tree TreeOutcome
	if r.staged {
		return tree, ErrStaged
	}
	seen := map[uuid.UUID]bool{r.ID: true} // a damaged log may have circles
	for events := []Receipt{*r}; len(events) > 0; events = events[1:] {
		outcome, err := events[0].Wait(ctx)
		if err != nil {
			return tree, err
		}
		tree.Outcomes = append(tree.Outcomes, outcome)
		children, err := r.bus.(*innerBus).childrenOf(ctx, outcome.ID)
		if err != nil {
			return tree, err
		}
		for _, child := range children {
			if !seen[child.ID] {
				seen[child.ID] = true
				events = append(events, Receipt{ID: child.ID, bus: r.bus, seq: child.Seq})
			}
		}
	}
	return tree, nil
}

// childrenOf returns the children of an event, the oldest first.
func (b *innerBus) childrenOf(ctx context.Context, id uuid.UUID) ([]event.Event, error) {
	defer b.keep()
	history, err := b.history(ctx)
	if err != nil {
		return nil, err
	}
	const all = 1 << 30
	children, _, err := engine.ChildrenOf(ctx, history, id, all)
	return children, public(err)
}
