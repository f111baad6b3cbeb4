package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
)

// TreeLimit is how many events a tree has at most.
const TreeLimit = 10_000

// ReadTree returns an event with its descendants, at most limit events in all: the nearest
// to the event first. It returns a *NotFoundError if the log does not have the event. The
// log may change while it is read. A descendant whose parent was pruned is not found.
func ReadTree(ctx context.Context, from EventReader, id uuid.UUID, limit int) (*event.TreeNode, error) {
	history, err := from.Event(ctx, id)
	if err != nil {
		return nil, err
	}
	root := &event.TreeNode{EventHistory: history}
	seen := map[uuid.UUID]bool{id: true} // a damaged log may have circles
	for nodes := []*event.TreeNode{root}; len(nodes) > 0; nodes = nodes[1:] {
		node := nodes[0]
		children, all, err := ChildrenOf(ctx, from, node.ID, limit-len(seen)+1)
		if err != nil {
			return nil, err
		}
		room := limit - len(seen)
		node.Truncated = !all || len(children) > room
		for _, child := range children[max(0, len(children)-room):] { // the newest
			if seen[child.ID] {
				continue
			}
			seen[child.ID] = true
			history, err := from.Event(ctx, child.ID)
			var pruned *event.NotFoundError
			if errors.As(err, &pruned) { // since its parent was read
				continue
			}
			if err != nil {
				return nil, err
			}
			one := &event.TreeNode{EventHistory: history}
			node.Children = append(node.Children, one)
			nodes = append(nodes, one)
		}
	}
	return root, nil
}

// ChildrenOf returns the newest children of an event, up to a limit, the oldest of them
// first. It reports whether these are all.
func ChildrenOf(ctx context.Context, from EventReader, id uuid.UUID, limit int) (children []event.Event, all bool, err error) {
	page := event.Page{}
	for {
		page.Limit = min(limit-len(children), 1000)
		found, err := from.Events(ctx, Filter{Filter: event.Filter{ChildOf: id}}, page, 0)
		if err != nil {
			return nil, false, err
		}
		children = append(children, found.Events...)
		if page.After = found.Next; page.After == "" || len(children) >= limit {
			slices.Reverse(children)
			return children, page.After == "", nil
		}
	}
}

// RootOf returns the event with which everything began that led to an event: itself, if no
// handler has published it. If an event between them was pruned, it returns the oldest one
// that is left. It returns a *NotFoundError if the log does not have the event.
func RootOf(ctx context.Context, from EventReader, id uuid.UUID) (uuid.UUID, error) {
	found, err := from.Event(ctx, id)
	seen := map[uuid.UUID]bool{} // a damaged log may have circles
	for err == nil {
		id, seen[found.ID] = found.ID, true
		if found.ParentID == uuid.Nil || seen[found.ParentID] {
			return id, nil
		}
		found, err = from.Event(ctx, found.ParentID)
	}
	var pruned *event.NotFoundError
	if errors.As(err, &pruned) && len(seen) > 0 {
		return id, nil
	}
	return uuid.Nil, err
}
