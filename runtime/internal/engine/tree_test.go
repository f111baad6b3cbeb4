package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// circle is a log, as no bus makes it, whose events have each other as parents.
type circle struct {
	engine.EventReader
	parents map[uuid.UUID]uuid.UUID
	order   []uuid.UUID
}

func (c circle) Event(_ context.Context, id uuid.UUID) (h event.EventHistory, err error) {
	parent, known := c.parents[id]
	if !known {
		return h, &event.NotFoundError{Thing: "event", Name: id.String()}
	}
	h.ID, h.ParentID = id, parent
	return h, nil
}

func (c circle) Events(_ context.Context, f engine.Filter, p event.Page, _ int) (found event.EventSearch, err error) {
	for _, id := range slices.Backward(c.order) {
		if c.parents[id] == f.ChildOf && len(found.Events) < p.Limit {
			found.Events = append(found.Events, event.Event{ID: id, ParentID: f.ChildOf})
		}
	}
	return found, nil
}

func add(c *circle, id, parent byte) {
	c.parents[uuid.UUID{15: id}] = uuid.UUID{15: parent}
	c.order = append(c.order, uuid.UUID{15: id})
}

func count(node *event.TreeNode) (events, truncated int) {
	events = 1
	if node.Truncated {
		truncated = 1
	}
	for _, child := range node.Children {
		e, t := count(child)
		events, truncated = events+e, truncated+t
	}
	return events, truncated
}

func TestATreeOfADamagedLogEnds(t *testing.T) {
	log := &circle{parents: map[uuid.UUID]uuid.UUID{}}
	add(log, 1, 3)
	add(log, 2, 1)
	add(log, 3, 2)
	add(log, 4, 4)
	tree, err := engine.ReadTree(t.Context(), log, uuid.UUID{15: 1}, 100)
	if events, truncated := count(tree); err != nil || events != 3 || truncated != 0 {
		t.Errorf("the tree has %d events, %d truncated, %v", events, truncated, err)
	}
	for _, id := range []byte{1, 4} {
		if _, err := engine.RootOf(t.Context(), log, uuid.UUID{15: id}); err != nil {
			t.Error(err)
		}
	}
}

func TestATreeHasALimit(t *testing.T) {
	log := &circle{parents: map[uuid.UUID]uuid.UUID{}}
	add(log, 1, 100)
	for id := byte(2); id < 12; id++ {
		add(log, id, 1)
	}
	add(log, 20, 2)
	for limit, want := range map[int][2]int{1: {1, 1}, 5: {5, 1}, 11: {11, 1}, 12: {12, 0}, 100: {12, 0}} {
		tree, err := engine.ReadTree(t.Context(), log, uuid.UUID{15: 1}, limit)
		if events, truncated := count(tree); err != nil || events != want[0] || truncated != want[1] {
			t.Errorf("limit %d: the tree has %d events, %d truncated, %v; want %v", limit, events, truncated, err, want)
		}
	}
	// The parent of 1 was pruned.
	if root, err := engine.RootOf(t.Context(), log, uuid.UUID{15: 20}); err != nil || root != (uuid.UUID{15: 1}) {
		t.Errorf("the root is %v, %v", root, err)
	}
}
