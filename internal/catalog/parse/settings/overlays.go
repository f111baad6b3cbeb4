package settings

import (
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
		r.below(o, section, visit)
	}
}

// below visits the entries of a mapping of names.
func (r *Overlays) below(o text.Object, section string, visit func(e text.Entry)) {
	e, ok := o.Entries[section]
	if !ok {
		return
	}
	entries, _ := r.Mapping(e.Value, section+" of "+o.What)
	for _, one := range entries {
		visit(one)
	}
}

// notThere reports a name in an overlay that the catalogue does not have.
func (r *Overlays) notThere(e text.Entry, what string, names []string) {
	if r.declared.Incomplete {
		return
	}
	f := r.Report(r.Place(e.Key), rules.Overlay, "the catalogue has no %s %s", what, diag.Label(e.Name))
	if f.Hint = diag.DidYouMean(e.Name, names); f.Hint == "" {
		f.Hint = "an overlay changes what the catalogue has: correct the name, or declare it there"
	}
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
		l := r.from.limits[e.Name]
		if l == nil {
			var names []string
			for _, one := range limits {
				names = append(names, one.Name.V)
			}
			r.notThere(e, "limit", names)
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
		i := slices.IndexFunc(r.declared.Events, func(event *catalog.Event) bool { return event.Label() == e.Name })
		if i < 0 {
			var names []string
			for _, event := range r.declared.Events {
				names = append(names, event.Label())
			}
			r.notThere(e, "event", names)
			return
		}
		event, what := r.declared.Events[i], "event "+diag.Label(e.Name)+" of the overlay"
		o := r.tunable(e, what, append(slices.Clone(SubscriptionKeys), "subscriptions")...)
		event.Settings = event.Settings.With(r.from.Of(o))
		r.below(o, "subscriptions", func(e text.Entry) {
			j := slices.IndexFunc(event.Subscriptions, func(s *catalog.Subscription) bool { return s.Name.V == e.Name })
			if j < 0 {
				var names []string
				for _, s := range event.Subscriptions {
					names = append(names, s.Name.V)
				}
				r.notThere(e, "subscription of event "+event.Label()+" that is called", names)
				return
			}
			r.subscription(e, event.Subscriptions[j], "subscription "+diag.Label(e.Name)+" of "+what, SubscriptionKeys)
		})
	})
	r.overlaid("subscriptions", func(e text.Entry) {
		i := slices.IndexFunc(patterns, func(s *catalog.PatternSubscription) bool { return s.Name.V == e.Name })
		if i < 0 {
			var names []string
			for _, s := range patterns {
				names = append(names, s.Name.V)
			}
			r.notThere(e, "subscription for patterns that is called", names)
			return
		}
		r.subscription(e, &patterns[i].Subscription, "subscription "+diag.Label(e.Name)+" of the overlay", PatternKeys)
	})
}

func (r *Overlays) subscription(e text.Entry, s *catalog.Subscription, what string, keys []string) {
	o := r.tunable(e, what, keys...)
	s.Settings = s.Settings.With(r.from.Of(o))
	if batch, ok := o.Entries["batch"]; ok && s.Group != nil {
		r.Report(r.Place(batch.Key), rules.Group, "%s has batches, and members of a group handle events one by one", what).Hint = "remove it"
	}
}

// Defaults returns the defaults with those of the overlays.
func (r *Overlays) Defaults(defaults catalog.Settings) catalog.Settings {
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
		i := slices.IndexFunc(policies.all, func(p policy) bool { return p.pattern == pattern })
		if i < 0 {
			policies.add(policy{pattern: pattern, key: e.Key, settings: settings})
			return
		}
		policies.all[i].settings = policies.all[i].settings.With(settings)
	})
}
