package settings

import (
	"cmp"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

var (
	overlayKeys      = []string{"version", "limits", "defaults", "policies", "events", "subscriptions"}
	overlayLimitKeys = []string{"at_once", "rate", "burst", "wait", "lax"}
)

// Overlays replace settings of one catalogue.
type Overlays struct {
	*text.Reader
	from     *Settings
	declared *Declared
	all      []text.Object // the later ones count
}

// NewOverlays returns overlays that [ReadOverlay] has read.
func NewOverlays(settings *Settings, declared *Declared, all []text.Object) *Overlays {
	return &Overlays{settings.Reader, settings, declared, all}
}

// ReadOverlay reads the top-level keys of an overlay, or returns false after a finding.
func ReadOverlay(r *text.Reader, root *yaml.Node, file string) (text.Object, bool) {
	o, ok := r.Object(root, "the overlay "+diag.Label(file), overlayKeys...)
	if ok {
		r.Version(o)
	}
	return o, ok
}

// overlaid visits the entries of a section of all overlays.
func (r *Overlays) overlaid(section string, visit func(e text.Entry)) {
	for _, o := range r.all {
		for _, e := range r.MappingOf(o, section) {
			visit(e)
		}
	}
}

// find returns what an overlay names, or reports that the catalogue does not have it.
func find[T any](r *Overlays, e text.Entry, what string, all []T, nameOf func(T) string) (found T, ok bool) {
	var names []string
	for _, one := range all {
		if nameOf(one) == e.Name {
			return one, true
		}
		names = append(names, nameOf(one))
	}
	if r.declared.Incomplete {
		return found, false
	}
	r.Report(r.Place(e.Key), rules.Overlay, "the catalogue has no %s %s", what, diag.Label(e.Name)).
		Hint = cmp.Or(diag.DidYouMean(e.Name, names), "an overlay changes what the catalogue has: correct the name, or declare it there")
	return found, false
}

// tunable reads a mapping of settings in an overlay, which cannot have a priority.
func (r *Overlays) tunable(e text.Entry, what string, keys ...string) text.Object {
	n := e.Value
	if n.Kind == yaml.MappingNode {
		kept := *n
		kept.Content = nil
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "priority" {
				r.Report(r.Place(n.Content[i]), rules.Overlay, "%s has a priority, which a program cannot change while it runs", what).
					Hint = "set it in the catalogue"
				continue
			}
			kept.Content = append(kept.Content, n.Content[i], n.Content[i+1])
		}
		n = &kept
	}
	o, _ := r.Object(n, what, keys...)
	return o
}

// Limits replaces numbers of limits.
func (r *Overlays) Limits(limits []*catalog.Limit) {
	r.overlaid("limits", func(e text.Entry) {
		l, ok := r.from.limits[e.Name]
		if !ok {
			find(r, e, "limit", limits, func(l *catalog.Limit) string { return l.Name.V })
			return
		}
		o, _ := r.Object(e.Value, "limit "+diag.Label(e.Name)+" of the overlay", overlayLimitKeys...)
		if _, ok := o.Entries["at_once"]; ok {
			l.AtOnce = r.Count(o, "at_once", 1, limitAtOnce, "it is how many may be at work at once")
		}
		rate := r.from.rate(o)
		if rate.Count.Written() {
			l.Rate.Count, l.Rate.Per = rate.Count, rate.Per
		}
		if rate.Burst.Written() {
			l.Rate.Burst = rate.Burst
		}
		if wait := r.Duration(o, "wait", waitSpan); wait.Written() && wait.V != text.Unreadable {
			l.Wait = wait
		}
		if _, ok := o.Entries["lax"]; ok {
			l.Lax = r.Flag(o, "lax")
		}
		if e, ok := o.Entries["burst"]; ok && !l.Rate.Count.Written() {
			r.Report(r.Place(e.Key), rules.Limit, "%s has a burst but no rate", o.What).Hint = "add a rate in the catalogue, or remove the burst"
		}
		if e, ok := o.Entries["lax"]; ok && l.Lax.V && l.Wait == (catalog.Value[time.Duration]{}) {
			r.Report(r.Place(e.Key), rules.Limit, "%s is lax but waits as long as it takes", o.What).
				Hint = "say after which time a delivery goes on without it, as in wait: 30s"
		}
	})
}

// Settings replaces settings of events and of subscriptions that are written in their own places.
func (r *Overlays) Settings(patterns []*catalog.PatternSubscription) {
	r.overlaid("events", func(e text.Entry) {
		event, ok := find(r, e, "event", r.declared.Events, (*catalog.Event).Label)
		if !ok {
			return
		}
		what := "event " + diag.Label(e.Name) + " of the overlay"
		o := r.tunable(e, what, append(slices.Clone(SubscriptionKeys), "subscriptions")...)
		event.Settings = event.Settings.With(r.from.Of(o))
		for _, e := range r.MappingOf(o, "subscriptions") {
			s, ok := find(r, e, "subscription of event "+event.Label()+" that is called", event.Subscriptions,
				func(s *catalog.Subscription) string { return s.Name.V })
			if ok {
				r.subscription(e, s, "subscription "+diag.Label(e.Name)+" of "+what, SubscriptionKeys)
			}
		}
	})
	r.overlaid("subscriptions", func(e text.Entry) {
		s, ok := find(r, e, "subscription for patterns that is called", patterns,
			func(s *catalog.PatternSubscription) string { return s.Name.V })
		if ok {
			r.subscription(e, &s.Subscription, "subscription "+diag.Label(e.Name)+" of the overlay", PatternKeys)
		}
	})
}

func (r *Overlays) subscription(e text.Entry, s *catalog.Subscription, what string, keys []string) {
	o := r.tunable(e, what, keys...)
	s.Settings = s.Settings.With(r.from.Of(o))
	if batch, ok := o.Entries["batch"]; ok && s.Group != nil {
		r.Report(r.Place(batch.Key), rules.Group, "%s has batches, and members of a group handle events one by one", what).Hint = "remove it"
	}
}

// Defaults reads `defaults:` of the root and of the overlays.
func (r *Overlays) Defaults(root text.Object) (defaults catalog.Settings) {
	if e, ok := root.Entries["defaults"]; ok {
		o, _ := r.Object(e.Value, "defaults", Keys...)
		defaults = r.from.Of(o)
	}
	for _, o := range r.all {
		if e, ok := o.Entries["defaults"]; ok {
			defaults = defaults.With(r.from.Of(r.tunable(e, "defaults of the overlay", SubscriptionKeys...)))
		}
	}
	return defaults
}

// policies replaces settings of policies. A pattern that the catalogue does not have makes another policy.
func (r *Overlays) policies(policies *Policies) {
	r.overlaid("policies", func(e text.Entry) {
		settings := r.from.Of(r.tunable(e, "policy "+diag.Label(e.Name)+" of the overlay", SubscriptionKeys...))
		pattern, ok := r.from.names.Pattern(e.Name, e.Key, policyPattern)
		if !ok {
			return
		}
		i := slices.IndexFunc(policies.all, func(p policy) bool { return p.Pattern == pattern })
		if i < 0 {
			policies.add(policy{&catalog.Policy{Pattern: pattern, Settings: settings}, e.Key})
			return
		}
		policies.all[i].Settings = policies.all[i].Settings.With(settings)
	})
}
