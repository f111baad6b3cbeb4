package importer

// export_test: NamesOf is for the test of contracts.

import (
	"slices"
)

// elsewhere are parts of a document that are about something else than payloads.
var elsewhere = []string{"headers", "traits", "bindings", "parameters", "servers", "responses", "securitySchemes", "correlationId", "reply", "not", "propertyNames", "info", "tags"}

// NamesOf returns the names of properties in the payloads of a document, of all files, in their order.
func NamesOf(file string, source []byte, o Options) []string {
	var all []string
	run(file, source, o, func(im *importer) {
		var left []*node
		root := im.root
		if root.get("openapi") != nil {
			for _, h := range im.webhooks() {
				left = append(left, h.value)
			}
		} else {
			left = append(left, root)
		}
		seen, known := map[*node]bool{}, map[string]bool{}
		for len(left) > 0 {
			n := left[0]
			left = left[1:]
			if seen[n] {
				continue
			}
			seen[n] = true
			if to := n.get("$ref"); to.is(text) {
				if at := im.lookUp(to).schema; at != nil {
					left = append(left, at)
				}
			}
			for _, p := range n.get("properties").properties() {
				if p.value.is(object) && !known[p.name] {
					known[p.name] = true
					all = append(all, p.name)
				}
			}
			eachPart(n, func(keyword string, part *node) {
				if !slices.Contains(elsewhere, keyword) {
					left = append(left, part)
				}
			})
		}
	})
	return all
}
