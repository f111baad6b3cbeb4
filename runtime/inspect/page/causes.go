package page

import (
	"errors"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
)

// treeNode is an event in the tree of what has led to it, and of what it has led to.
type treeNode struct {
	ID       uuid.UUID
	Type     string
	Status   string
	By       string // the subscription whose handler has published it
	Here     bool   // the page is about it
	Children []*treeNode
	More     bool // it has children that are not shown
	Rest     int  // how many, if some are shown
	Least    bool // there are more than Rest
}

// tree is the part of it that a page has.
type tree struct {
	Top *treeNode
	Cut bool   // there is more of it
	All string // where all events with its correlation id are; empty for none
	CLI string // shows more of it
}

const (
	// mostNodes is how many events a tree on a page has, and how many are read for it.
	mostNodes = 150
	// mostChildren is how many children of an event are counted.
	mostChildren = 500
)

// treeAround returns the tree that an event is in, or nil if it is alone.
func (q *request) treeAround(id uuid.UUID, target string) (*tree, error) {
	root, err := q.file().Root(q.Context(), id)
	if err != nil {
		return nil, goneIsNone(err)
	}
	t, err := q.treeOf(root, id)
	if err != nil {
		return nil, goneIsNone(err)
	}
	if !t.Top.has(id) { // it is deep in a wide tree: then what came of it
		if t, err = q.treeOf(id, id); err != nil {
			return nil, goneIsNone(err)
		}
		t.Cut = true
	} else if len(t.Top.Children) == 0 {
		return nil, nil
	}
	t.CLI = commandline.Of("events tree", nil, target, root.String())
	return t, nil
}

// treeOf reads as much of the tree of an event as a page has.
func (q *request) treeOf(id, here uuid.UUID) (*tree, error) {
	top, err := q.file().TreeUpTo(q.Context(), id, mostNodes)
	if err != nil {
		return nil, err
	}
	t := &tree{}
	for _, n := range append([]*event.TreeNode{top}, top.Children...) { // the first event may have none
		if n.CorrelationID != "" {
			t.All = eventForm{Correlation: n.CorrelationID}.address("")
			break
		}
	}
	t.Top = t.copied(top, here)
	return t, q.countRest(t.Top)
}

// countRest counts the children that are not shown of the event that some children are shown of:
// the one at which the tree was full.
func (q *request) countRest(n *treeNode) error {
	if n.More && len(n.Children) > 0 {
		found, next, err := q.file().Events(q.Context(), event.Filter{ChildOf: n.ID}, event.Page{Limit: mostChildren})
		if err != nil {
			return err
		}
		n.Rest, n.Least = max(1, len(found)-len(n.Children)), next != ""
	}
	for _, child := range n.Children {
		if err := q.countRest(child); err != nil {
			return err
		}
	}
	return nil
}

// copied copies what a page shows of a node and its children.
func (t *tree) copied(n *event.TreeNode, here uuid.UUID) *treeNode {
	one := &treeNode{ID: n.ID, Type: n.Type, Status: n.Status, By: n.PublishedBy, Here: n.ID == here, More: n.Truncated}
	t.Cut = t.Cut || n.Truncated
	for _, child := range n.Children {
		one.Children = append(one.Children, t.copied(child, here))
	}
	return one
}

// goneIsNone leaves out what was pruned while the page was made.
func goneIsNone(err error) error {
	var missing *event.NotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	return err
}

func (n *treeNode) has(id uuid.UUID) bool {
	if n.ID == id {
		return true
	}
	for _, child := range n.Children {
		if child.has(id) {
			return true
		}
	}
	return false
}
