package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// printTree shows what came of an order: its deliveries, the events that their handlers
// published, and so on.
func (s *shop) printTree(ctx context.Context, order uuid.UUID, out io.Writer) error {
	tree, err := runtime.Tree(ctx, s.bus, order)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "This is what came of the order:")
	printNode(out, tree, 1)
	return nil
}

func printNode(out io.Writer, n *event.TreeNode, depth int) {
	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(out, "%s%s\n", indent, n.Type)
	for _, d := range n.Deliveries {
		fmt.Fprintf(out, "%s  %s %s", indent, d.Subscription, d.State)
		if d.Failures > 0 {
			fmt.Fprintf(out, " after %d failed attempts", d.Failures)
		}
		fmt.Fprintln(out)
	}
	for _, child := range n.Children {
		printNode(out, child, depth+1)
	}
}
