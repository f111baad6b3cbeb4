package tuning

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime"
)

// limitOf returns a limit of the catalogue as generated code writes it.
func limitOf(l *catalog.Limit) runtime.Limit {
	limit := runtime.Limit{
		Name: l.Name.V, Doc: l.Doc, AtOnce: l.AtOnce.V, Rate: l.Rate.Count.V, Per: l.Rate.Per.V, Burst: l.Rate.Burst.V,
		Wait: l.Wait.V, Lax: l.Lax.V,
	}
	if l.Hold.V == catalog.HoldEvent {
		limit.Hold = runtime.HoldEvent
	}
	return limit
}

// allLimits compares the limits of the program with those of the file.
func (c *comparison) allLimits(built []runtime.Limit, inFile []*catalog.Limit) {
	left := map[string]*catalog.Limit{}
	for _, l := range inFile {
		left[l.Name.V] = l
	}
	for _, limit := range built {
		c.limits[limit.Name] = true
		l := left[limit.Name]
		delete(left, limit.Name)
		if l == nil {
			c.needsBuild(diag.Position{}, "limit %s is gone", limit.Name)
			continue
		}
		now := limitOf(l)
		now.Doc = limit.Doc // which changes nothing
		if now != limit {
			c.needsBuild(l.Name.Pos, "limit %s is another one", limit.Name)
		}
	}
	for _, l := range inFile {
		if left[l.Name.V] != nil {
			c.needsBuild(l.Name.Pos, "limit %s is new", l.Name.V)
		}
	}
}

// keysOf returns the paths by which limits of an event type can count: generated code has those that it uses.
func keysOf(t runtime.AnyEventType) map[string]bool {
	keys := map[string]bool{}
	note := func(s runtime.Settings) {
		for _, use := range s.Limits {
			keys[use.By] = true
		}
	}
	note(t.Settings())
	for _, s := range t.Subscriptions() {
		note(s.Settings)
	}
	return keys
}

// knowsLimits tells whether the program can follow the uses of limits in the file.
func (c *comparison) knowsLimits(what string, uses []*catalog.LimitUse, keys map[string]bool) bool {
	known := true
	for _, use := range uses {
		name := use.Limit.Name.V
		switch {
		case !c.limits[name]: // which is reported as new
			known = false
		case use.By.Written() && !keys[use.By.V]:
			known = false
			c.needsBuild(use.By.Pos, "limit %s of %s counts by %s", name, what, use.By.V)
		}
	}
	return known
}
