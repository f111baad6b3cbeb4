package parse

import (
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

var (
	overlayKeys      = []string{"version", "limits", "defaults", "policies", "events", "subscriptions"}
	overlayLimitKeys = []string{"at_once", "rate", "burst", "wait", "lax"}
)

// Overlays replace settings of one catalogue.
type Overlays struct {
	*Reader
	from     *Settings
	declared *declared
	all      []object // the later ones count
}

func newOverlays(settings *Settings, declared *declared, all []object) *Overlays {
	return &Overlays{settings.Reader, settings, declared, all}
}

// readOverlay reads the top-level keys of an overlay, or returns false after a finding.
func readOverlay(r *Reader, root *yaml.Node, file string) (object, bool) {
	o, ok := r.object(root, "the overlay "+diag.Label(file), overlayKeys...)
	if ok {
		r.version(o)
	}
	return o, ok
}

// overlaid visits the entries of a section of all overlays.
func (r *Overlays) overlaid(section string, visit func(e entry)) {
	for _, o := range r.all {
		r.below(o, section, visit)
	}
}

// below visits the entries of a mapping of names.
func (r *Overlays) below(o object, section string, visit func(e entry)) {
	e, ok := o.entries[section]
	if !ok {
		return
	}
	entries, _ := r.mapping(e.value, section+" of "+o.what)
	for _, one := range entries {
		visit(one)
	}
}

// notThere reports a name in an overlay that the catalogue does not have.
func (r *Overlays) notThere(e entry, what string, names []string) {
	if r.declared.incomplete {
		return
	}
	f := r.report(r.place(e.key), rules.Overlay, "the catalogue has no %s %s", what, diag.Label(e.name))
	if f.Hint = diag.DidYouMean(e.name, names); f.Hint == "" {
		f.Hint = "an overlay changes what the catalogue has: correct the name, or declare it there"
	}
}

// tunable reads a mapping of settings in an overlay, which cannot have a priority.
func (r *Overlays) tunable(e entry, what string, keys ...string) object {
	n := e.value
	if n.Kind == yaml.MappingNode {
		kept := *n
		kept.Content = nil
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "priority" {
				r.report(r.place(n.Content[i]), rules.Overlay, "%s has a priority, which a program cannot change while it runs", what).
					Hint = "set it in the catalogue"
				continue
			}
			kept.Content = append(kept.Content, n.Content[i], n.Content[i+1])
		}
		n = &kept
	}
	o, _ := r.object(n, what, keys...)
	return o
}

// limits replaces numbers of limits.
func (r *Overlays) limits(limits []*catalog.Limit) {
	r.overlaid("limits", func(e entry) {
		l := r.from.limits[e.name]
		if l == nil {
			var names []string
			for _, one := range limits {
				names = append(names, one.Name.V)
			}
			r.notThere(e, "limit", names)
			return
		}
		o, _ := r.object(e.value, "limit "+diag.Label(e.name)+" of the overlay", overlayLimitKeys...)
		if e, ok := o.entries["at_once"]; ok {
			l.AtOnce = r.count(e, o.what, 1, limitAtOnce, "it is how many may be at work at once")
		}
		rate := r.from.rate(o)
		if rate.Count.Written() {
			l.Rate.Count, l.Rate.Per = rate.Count, rate.Per
		}
		if rate.Burst.Written() {
			l.Rate.Burst = rate.Burst
		}
		if wait := r.duration(o, "wait", waitSpan); wait.Written() && wait.V != unreadable {
			l.Wait = wait
		}
		if e, ok := o.entries["lax"]; ok {
			l.Lax = r.truth(e, o.what)
		}
		if e, ok := o.entries["burst"]; ok && !l.Rate.Count.Written() {
			r.report(r.place(e.key), rules.Limit, "%s has a burst but no rate", o.what).Hint = "add a rate in the catalogue, or remove the burst"
		}
		if e, ok := o.entries["lax"]; ok && l.Lax.V && l.Wait == (catalog.Value[time.Duration]{}) {
			r.report(r.place(e.key), rules.Limit, "%s is lax but waits as long as it takes", o.what).
				Hint = "say after which time a delivery goes on without it, as in wait: 30s"
		}
	})
}

// settings replaces settings of events and of subscriptions that are written in their own places.
func (r *Overlays) settings(patterns []*catalog.PatternSubscription) {
	r.overlaid("events", func(e entry) {
		i := slices.IndexFunc(r.declared.events, func(event *catalog.Event) bool { return event.Label() == e.name })
		if i < 0 {
			var names []string
			for _, event := range r.declared.events {
				names = append(names, event.Label())
			}
			r.notThere(e, "event", names)
			return
		}
		event, what := r.declared.events[i], "event "+diag.Label(e.name)+" of the overlay"
		o := r.tunable(e, what, append(slices.Clone(subscriptionKeys), "subscriptions")...)
		event.Settings = event.Settings.With(r.from.settings(o))
		r.below(o, "subscriptions", func(e entry) {
			j := slices.IndexFunc(event.Subscriptions, func(s *catalog.Subscription) bool { return s.Name.V == e.name })
			if j < 0 {
				var names []string
				for _, s := range event.Subscriptions {
					names = append(names, s.Name.V)
				}
				r.notThere(e, "subscription of event "+event.Label()+" that is called", names)
				return
			}
			r.subscription(e, event.Subscriptions[j], "subscription "+diag.Label(e.name)+" of "+what, subscriptionKeys)
		})
	})
	r.overlaid("subscriptions", func(e entry) {
		i := slices.IndexFunc(patterns, func(s *catalog.PatternSubscription) bool { return s.Name.V == e.name })
		if i < 0 {
			var names []string
			for _, s := range patterns {
				names = append(names, s.Name.V)
			}
			r.notThere(e, "subscription for patterns that is called", names)
			return
		}
		r.subscription(e, &patterns[i].Subscription, "subscription "+diag.Label(e.name)+" of the overlay", patternKeys)
	})
}

func (r *Overlays) subscription(e entry, s *catalog.Subscription, what string, keys []string) {
	o := r.tunable(e, what, keys...)
	s.Settings = s.Settings.With(r.from.settings(o))
	if batch, ok := o.entries["batch"]; ok && s.Group != nil {
		r.report(r.place(batch.key), rules.Group, "%s has batches, and members of a group handle events one by one", what).Hint = "remove it"
	}
}

// defaults returns the defaults with those of the overlays.
func (r *Overlays) defaults(defaults catalog.Settings) catalog.Settings {
	for _, o := range r.all {
		if e, ok := o.entries["defaults"]; ok {
			defaults = defaults.With(r.from.settings(r.tunable(e, "defaults of the overlay", subscriptionKeys...)))
		}
	}
	return defaults
}

// policies replaces settings of policies. A pattern that the catalogue does not have makes another policy.
func (r *Overlays) policies(policies *Policies) {
	r.overlaid("policies", func(e entry) {
		settings := r.from.settings(r.tunable(e, "policy "+diag.Label(e.name)+" of the overlay", subscriptionKeys...))
		pattern, ok := r.from.names.pattern(e.name, e.key, policyPattern)
		if !ok {
			return
		}
		i := slices.IndexFunc(policies.all, func(p policy) bool { return p.pattern == pattern })
		if i < 0 {
			policies.add(policy{pattern: pattern, key: e.key, settings: settings})
			return
		}
		policies.all[i].settings = policies.all[i].settings.With(settings)
	})
}
