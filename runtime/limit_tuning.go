package runtime

import (
	"fmt"

	"github.com/busgen/busgen/runtime/declare"
)

// tunedLimits returns the limits of the catalogue with the numbers of a [Tuning]. It leaves
// out those that [WithLimit] replaces.
func (c *Catalogue) tunedLimits(tuned, replaced map[string]declare.Limit) (all []declare.Limit, err error) {
	known := map[string]declare.Limit{}
	for _, l := range c.limits {
		known[l.Name] = l
	}
	for name, l := range tuned {
		built, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("the limits: %w", unknownLimit(name, known))
		}
		if err := l.Validate(); err != nil {
			return nil, fmt.Errorf("the limit %q: %w", name, err)
		}
		if problem := tuneProblem(built, l); problem != "" {
			return nil, fmt.Errorf("the limit %q: %s", name, problem)
		}
		known[name] = l
	}
	for _, l := range known {
		if _, other := replaced[l.Name]; !other {
			all = append(all, l)
		}
	}
	return all, nil
}

// tuneProblem says why a limit cannot become another one while the bus runs, or "".
func tuneProblem(l, other declare.Limit) string {
	switch {
	case l.Name != other.Name:
		return fmt.Sprintf("its name is %q", other.Name)
	case (l.AtOnce > 0) != (other.AtOnce > 0):
		return "AtOnce can be changed while the bus runs, and not added or removed"
	case (l.Rate > 0) != (other.Rate > 0):
		return "Rate can be changed while the bus runs, and not added or removed"
	}
	return ""
}

// tune makes new numbers apply, and tells deliveries of feeds that wait that they may need other limits than before.
func (l *limits) tune(all []declare.Limit, feeds []*feed) {
	if l.set == nil {
		return
	}
	l.set.Tune(all...)
	for _, f := range feeds {
		if f.scheduler != nil {
			f.scheduler.Retune()
		}
	}
}
