package page

import (
	"errors"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/inspect"
)

// treeNode is an event in the tree of what has led to it, and of what it has led to.
type treeNode struct {
	ID       uuid.UUID
	Type     string
	Status   string
	By       string // the subscription whose handler has published it
	Here     bool   // the page is about it
	Children []*treeNode
	More     int // children that are not shown
	Cut      bool
}

// mostNodes is how many events a tree on a page has.
const mostNodes = 150

// treeAround returns the whole tree that an event is in, or nil if it is alone.
func (q *request) treeAround(id uuid.UUID) (*treeNode, error) {
	root, err := q.file().Root(q.Context(), id)
	if err != nil {
		return nil, goneIsNone(err)
	}
	tree, err := q.file().Tree(q.Context(), root)
	if err != nil {
		return nil, goneIsNone(err)
	}
	if len(tree.Children) == 0 {
		return nil, nil
	}
	left := mostNodes
	shown := pruned(tree, id, &left)
	if !shown.has(id) { // it is deep in a wide tree: then what came of it
		if tree, err = q.file().Tree(q.Context(), id); err != nil {
			return nil, goneIsNone(err)
		}
		left = mostNodes
		shown = pruned(tree, id, &left)
		shown.Cut = true
	}
	return shown, nil
}

// goneIsNone leaves out what was pruned while the page was made.
func goneIsNone(err error) error {
	var missing *inspect.NotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	return err
}

// pruned copies a tree until there are enough nodes, those nearest to the root first.
func pruned(root *inspect.TreeNode, here uuid.UUID, left *int) *treeNode {
	copied := func(n *inspect.TreeNode) *treeNode {
		*left--
		return &treeNode{ID: n.ID, Type: n.Type, Status: n.Status, By: n.PublishedBy, Here: n.ID == here}
	}
	type pair struct {
		from *inspect.TreeNode
		to   *treeNode
	}
	top := copied(root)
	for queue := []pair{{root, top}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for i, child := range at.from.Children {
			if *left <= 0 {
				at.to.More = len(at.from.Children) - i
				break
			}
			one := copied(child)
			at.to.Children = append(at.to.Children, one)
			queue = append(queue, pair{child, one})
		}
		at.to.Cut = at.from.Truncated
	}
	return top
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
