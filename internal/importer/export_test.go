package importer

// export_test: NamesOf is for the test of contracts.

import (
	"slices"

	"github.com/busgen/busgen/internal/importer/files"
	"github.com/busgen/busgen/internal/importer/tree"
)

// elsewhere are parts of a document that are about something else than payloads.
var elsewhere = []string{"headers", "traits", "bindings", "parameters", "servers", "responses", "securitySchemes", "correlationId", "reply", "not", "propertyNames", "info", "tags"}

// NamesOf returns the names of properties in the payloads of a document, of all files, in their order.
func NamesOf(file string, source []byte, o Options) []string {
	var all []string
	run(file, source, o, func(im *importer) {
		var left []*tree.Node
		root := im.root
		if root.Get("openapi") != nil {
			for _, h := range im.webhooks() {
				left = append(left, h.Value)
			}
		} else {
			left = append(left, root)
		}
		seen, known := map[*tree.Node]bool{}, map[string]bool{}
		for len(left) > 0 {
			n := left[0]
			left = left[1:]
			if seen[n] {
				continue
			}
			seen[n] = true
			if to := n.Get("$ref"); to.Is(tree.Text) {
				if at := im.files.LookUp(to).Schema; at != nil {
					left = append(left, at)
				}
			}
			for _, p := range n.Get("properties").Properties() {
				if p.Value.Is(tree.Object) && !known[p.Name] {
					known[p.Name] = true
					all = append(all, p.Name)
				}
			}
			files.EachPart(n, func(keyword string, part *tree.Node) {
				if !slices.Contains(elsewhere, keyword) {
					left = append(left, part)
				}
			})
		}
	})
	return all
}
