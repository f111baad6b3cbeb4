package payload

import (
	"slices"

	"github.com/busgen/busgen/internal/catalog"
)

// CustomTypes lists the names of the custom Go types in the payload of an event in a version. Only generated
// code knows which values they take.
func CustomTypes(c *catalog.Catalogue, eventType string, version int) []string {
	e := c.EventNamed(eventType)
	if e == nil {
		return nil
	}
	fields, _ := e.FieldsOf(version)
	var names []string
	for _, t := range catalog.Reachable(fields) {
		if t.IsCustom() {
			names = append(names, t.Name.V)
		}
	}
	slices.Sort(names)
	return names
}
