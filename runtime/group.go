package runtime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// GroupError is the error of [Bus.Start] when the program has subscribed some members of a group
// that the catalogue declares, and not the others. A group settles an event when all of its
// members have handled it, so without one of them that member would miss the event. Nothing was
// started: subscribe the missing ones and call Start again, or remove them from the group in the
// catalogue. A group without any member in the program is no error: its events wait.
type GroupError struct {
	Group   string
	Missing []string // the members without a handler, in the order of the catalogue
}

// Error names the group and the missing members.
func (e *GroupError) Error() string {
	return fmt.Sprintf("group %q: the catalogue declares members that this program does not subscribe: %s; subscribe them before the bus is started, or remove them from the group",
		e.Group, quotedNames(e.Missing))
}

func quotedNames(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(all, ", ")
}

// declaredGroup is a group whose members the catalogue declares.
type declaredGroup struct {
	name    string
	aliases []string
	members []string // in the order of the catalogue, in which they handle an event
	types   []string // that they are for, or patterns of them
}

// addToGroup makes a declared subscription of event types a member of its group.
func (c *Catalogue) addToGroup(s declare.Subscription, patterns ...string) {
	if s.Group == "" {
		return
	}
	g := c.group(s.Group)
	if g == nil {
		g = &declaredGroup{name: s.Group}
		c.groups = append(c.groups, g)
	}
	g.members = append(g.members, s.Name)
	for _, pattern := range patterns {
		if !slices.Contains(g.types, pattern) {
			g.types = append(g.types, pattern)
		}
	}
	for _, alias := range s.GroupAliases {
		if !slices.Contains(g.aliases, alias) {
			g.aliases = append(g.aliases, alias)
		}
	}
}

// group returns the declared group of a name, or nil.
func (c *Catalogue) group(name string) *declaredGroup {
	for _, g := range c.groups {
		if g.name == name {
			return g
		}
	}
	return nil
}

// spec returns what the file has to know of the group before its members are subscribed. Types of
// former members stay until the bus is started.
func (g *declaredGroup) spec() engine.ConsumerSpec {
	return engine.ConsumerSpec{Name: g.name, Pattern: strings.Join(g.types, " "), Aliases: g.aliases, Extend: true}
}

// sortMembers puts members into the order of the catalogue.
func sortMembers(g *declaredGroup, members []*innerSubscription) {
	slices.SortStableFunc(members, func(a, b *innerSubscription) int {
		return slices.Index(g.members, a.name) - slices.Index(g.members, b.name)
	})
}

// inDeclaredGroup makes a subscription that the catalogue declares as a member a member, and says why it cannot be.
func (s *innerSubscription) inDeclaredGroup() (problem string) {
	c := s.bus.catalogue
	d, known := c.declared[s.name]
	switch asked := s.config.group; {
	case s.config.ephemeral: // whose name is a label
	case known && d.Group != "" && asked != "" && asked != d.Group:
		return fmt.Sprintf("the catalogue declares it as a member of group %q, and InGroup says %q; leave the option out", d.Group, asked)
	case known && d.Group != "":
		s.config.group = d.Group
	case known && asked != "":
		return "the catalogue declares this name, so it has deliveries of its own and cannot be in a group; give it the group in the catalogue"
	case asked != "" && c.group(asked) != nil:
		return fmt.Sprintf("the catalogue declares group %q with the members %s; declare this one there as well, or choose another group", asked, quotedNames(c.group(asked).members))
	case asked == "" && c.group(s.name) != nil:
		return "the catalogue declares a group of this name"
	}
	return ""
}

// formerNames returns the names that a member had, which its progress with an event may have.
func (s *innerSubscription) formerNames() []string {
	d := s.bus.catalogue.declared[s.name]
	if s.config.ephemeral || d.Group == "" {
		return s.config.aliases
	}
	return append(slices.Clone(d.Aliases), s.config.aliases...)
}

// formerName says for what a name was declared before, or "".
func (c *Catalogue) formerName(name string) (problem string) {
	for current, d := range c.declared {
		if slices.Contains(d.Aliases, name) {
			return fmt.Sprintf("the catalogue says that this is a former name of subscription %q; use the new name", current)
		}
	}
	for _, g := range c.groups {
		if slices.Contains(g.aliases, name) {
			return fmt.Sprintf("the catalogue says that this is a former name of group %q; use the new name", g.name)
		}
	}
	return ""
}

// incompleteGroups returns a *[GroupError] for each declared group of which some members are missing. The caller
// holds mu.
func (b *innerBus) incompleteGroups() error {
	var errs []error
	for _, g := range b.catalogue.groups {
		f := b.feedNamed(g.name)
		if f == nil || !f.group {
			continue
		}
		here := map[string]bool{}
		for _, m := range *f.members.Load() {
			here[m.name] = true
		}
		missing := slices.DeleteFunc(slices.Clone(g.members), func(name string) bool { return here[name] })
		if len(missing) > 0 {
			errs = append(errs, &GroupError{g.name, missing})
		}
	}
	return errors.Join(errs...)
}

// completeGroups makes the patterns of groups those of their members, of which there are no more
// to come. The file may have types of members that are gone.
func (b *innerBus) completeGroups(ctx context.Context) error {
	b.mu.Lock()
	if err := b.incompleteGroups(); err != nil {
		b.mu.Unlock()
		return err
	}
	var specs []engine.ConsumerSpec
	for _, f := range b.feeds {
		if f.group {
			spec := f.spec(*f.members.Load())
			spec.Pattern, spec.Extend = spec.Over(""), false
			specs = append(specs, spec)
		}
	}
	b.mu.Unlock()
	return b.log.Declare(ctx, nil, specs)
}

// overrides returns what a member of a group overrides of the settings of an event type: what its options say and, if
// the catalogue declares it, what its settings there differ in from those of the type. The caller holds the roster's
// mu.
func (s *innerSubscription) overrides(base declare.Settings) declare.Override {
	all := s.config.own
	d, known := s.bus.catalogue.declared[s.name]
	if !known {
		return all
	}
	own := s.bus.tuning.ofDeclared(d, base)
	all.Retry = append(retryOverrides(base.Retry, own.Retry), all.Retry...)
	for i, row := range setting.Plain {
		_, set := inOverride.Get(&all, i)
		of, _ := inSettings.Get(&base, i)
		if n, _ := inSettings.Get(&own, i); row.InGroup != setting.Each && !set && n != of {
			inOverride.Put(&all, i, n)
		}
	}
	return all
}

var (
	inSettings   = setting.FieldsOf[declare.Settings]()
	inOverride   = setting.FieldsOf[declare.Override]()
	inDispatcher = setting.FieldsOf[dispatch.Settings]()
)

// inGroup merges a plain setting over the members of a group: of the event type, and what each member overrides.
func inGroup(how setting.Sharing, n int64, overrides []declare.Override, i int) int64 {
	overridden := false
	for _, o := range overrides {
		own, set := inOverride.Get(&o, i)
		switch {
		case !set:
		case how == setting.Longest:
			n = max(n, own)
		case !overridden || own == 0 || n > 0 && own > n: // 0 is no limit
			n, overridden = own, true
		}
	}
	return n
}

// retryOverrides returns the options that make own of base.
func retryOverrides(base, own retry.Policy) (opts []retry.Option) {
	add := func(differs bool, opt retry.Option) {
		if differs {
			opts = append(opts, opt)
		}
	}
	add(own.MaxAttempts != base.MaxAttempts, retry.MaxAttempts(own.MaxAttempts))
	add(own.Backoff != base.Backoff, retry.WithBackoff(own.Backoff))
	add(own.BaseDelay != base.BaseDelay, retry.BaseDelay(own.BaseDelay))
	add(own.MaxDelay != base.MaxDelay, retry.MaxDelay(own.MaxDelay))
	add(own.Multiplier != base.Multiplier, retry.Multiplier(own.Multiplier))
	add(own.Jitter != base.Jitter, retry.Jitter(own.Jitter))
	return opts
}

// mergeRedrive returns which dead letters of an event type are redriven in a group: what the first member says that
// differs from the type, else what the type says.
func mergeRedrive(base declare.Redrive, t string, members []*innerSubscription) declare.Redrive {
	for _, m := range members {
		if own := m.inForce.Load().types[t].Redrive; !reflect.DeepEqual(own, base) {
			return own
		}
	}
	return base
}
