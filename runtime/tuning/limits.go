package tuning

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// allLimits compares the limits of the program with those of the file.
func (c *comparison) allLimits(built []declare.Limit, inFile []*catalog.Limit) {
	left := map[string]*catalog.Limit{}
	for _, l := range inFile {
		left[l.Name] = l
	}
	for _, limit := range built {
		c.limits[limit.Name] = true
		l := left[limit.Name]
		delete(left, limit.Name)
		if l == nil {
			c.needsBuild(diag.Position{}, "limit %s is gone", limit.Name)
			continue
		}
		now := l.Limit
		now.Doc = limit.Doc // which changes nothing
		if difference := builtIn(limit, now); difference != "" {
			c.needsBuild(l.Pos, "limit %s %s", limit.Name, difference)
			continue
		}
		if c.tuning.Limits[limit.Name] = now; now != limit {
			c.report.Tuned = append(c.report.Tuned, "limit "+limit.Name)
		}
	}
	for _, l := range inFile {
		if left[l.Name] != nil {
			c.needsBuild(l.Pos, "limit %s is new", l.Name)
		}
	}
}

// builtIn says how a limit in the file differs from that of the program in what cannot be tuned, or "".
func builtIn(built, file declare.Limit) string {
	switch {
	case built.AtOnce == 0 && file.AtOnce > 0:
		return "has an at_once, and none in the program"
	case built.AtOnce > 0 && file.AtOnce == 0:
		return "has no at_once, but one in the program"
	case built.Rate == 0 && file.Rate > 0:
		return "has a rate, and none in the program"
	case built.Rate > 0 && file.Rate == 0:
		return "has no rate, but one in the program"
	}
	return ""
}

// keysOf returns the paths by which limits and breakers of an event type can count: generated code has those that it uses.
func keysOf(built *runtime.Catalogue, t runtime.AnyEventType) map[string]bool {
	keys := map[string]bool{}
	note := func(s declare.Settings) {
		for _, use := range s.Limits {
			keys[use.By] = true
		}
		keys[s.Breaker.By] = true
	}
	note(t.Settings())
	for _, s := range t.Subscriptions() {
		note(s.Settings)
	}
	for _, s := range built.PatternSubscriptions() {
		if s.Covers(t) {
			note(s.For(t))
		}
	}
	return keys
}

// knowsBreaker tells whether the program can follow the breaker in the file.
func (c *comparison) knowsBreaker(what string, b catalog.Breaker, keys map[string]bool) bool {
	if b.Off.V || !b.By.Written() || keys[b.By.V] {
		return true
	}
	c.needsBuild(b.By.Pos, "the breaker of %s is by %s", what, b.By.V)
	return false
}

// knowsLimits tells whether the program can follow the uses of limits in the file.
func (c *comparison) knowsLimits(what string, uses []*catalog.LimitUse, keys map[string]bool) bool {
	known := true
	for _, use := range uses {
		name := use.Limit.Name
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
