package docpage

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/schedule"
)

// A view is what the template shows.
type view struct {
	Title   string
	Source  string // the name of the catalogue's file
	Counts  []count
	Groups  []group
	Types   []typeView
	Flow    *flow // nil if no subscription is declared
	Without int   // events for which none is
	// Patterns are the subscriptions for patterns.
	Patterns []patternView
}

type count struct {
	N    int
	Noun string
}

// A group is the events of one namespace; its name is empty for events that have none.
type group struct {
	Name   string
	Events []eventView
}

// headerView is a key of the metadata that has a type.
type headerView struct {
	Name, Type, Doc string
}

type eventView struct {
	Name, ID      string
	Prefix, Last  string // of the name, up to and behind the last dot
	GoName        string
	Doc           []paragraph
	Deprecated    string
	IsDeprecated  bool
	Owner         string
	Tags          []string
	Priority      string // empty if it is normal
	Fields        []fieldView
	Version       int      // 0 for an event that has had but one
	Schema        string   // of its payload, in documents
	Formerly      []string // its names before
	Reserved      []string // names that no field has
	History       []oldView
	Example       string
	Delivery      delivery
	PartitionBy   string
	CloudEvent    string // what it is called outside; empty if nothing says it
	DedupeBy      string
	AwaitBy       string
	Headers       []headerView
	Result        *fieldView
	Subscriptions []subscriptionView
	Schedules     []scheduleView
	At            string
}

// A scheduleView has no next times: the page may be read at any time.
type scheduleView struct {
	Name, When, Missed, Payload string
	Doc                         []paragraph
}

// An oldView is a payload that an event had, the newest first.
type oldView struct {
	Version int
	Doc     []paragraph
	Fields  []fieldView
}

type subscriptionView struct {
	Name, ID, GoName string
	Of               string    // the ID of the entry of one for patterns, in the list of an event
	Patterns         []string  // likewise
	Group            *memberOf // nil for one that is in none
	Formerly         []string
	Doc              []paragraph
	Delivery         delivery
	Same             bool // delivered as the event is
}

// A patternView is the entry of a subscription for patterns. The page shows its deliveries with each event.
type patternView struct {
	Name, ID, GoName string
	Patterns         []string
	Events           []typePart
	Group            *memberOf
	Formerly         []string
	Doc              []paragraph
}

// memberOf is the group of a subscription.
type memberOf struct {
	Name     string
	Formerly []string
	Doc      []paragraph
}

type fieldView struct {
	Name         string
	Type         []typePart
	Optional     bool
	Nullable     bool
	Doc          []paragraph
	Rules        []string // constraints, default and former names, in words
	Deprecated   string
	IsDeprecated bool
}

// A typePart is a piece of the text of a type; one with an ID is a link.
type typePart struct{ Text, ID string }

type typeView struct {
	Name, ID, Kind string
	Schema         string // what documents call its schema, if that is another name
	Doc            []paragraph
	Deprecated     string
	IsDeprecated   bool
	Fields         []fieldView
	Reserved       []string
	Values         []valueView
	Variants       []variantView
	Discriminator  string
	Custom         string
	JSON           []typePart
	Scalar         []typePart // that a named scalar stands for
	Rules          []string   // which of its values are allowed
	UsedBy         []typePart
}

type valueView struct {
	Name, Number string
	Doc          []paragraph
	Deprecated   string
	IsDeprecated bool
}

type variantView struct {
	Name string
	Type []typePart
}

func viewOf(c *catalog.Catalogue, title string) view {
	v := view{Title: title, Source: filepath.Base(c.File), Flow: flowOf(c)}
	subscriptions, schedules := 0, 0
	for _, e := range c.Events {
		v.add(eventViewOf(c, e))
		subscriptions += len(e.Subscriptions)
		schedules += len(e.Schedules)
		if len(e.Declared()) == 0 {
			v.Without++
		}
	}
	for _, s := range c.Subscriptions {
		v.Patterns = append(v.Patterns, patternViewOf(s))
		subscriptions++
	}
	users := usersOf(c)
	types := typesOf(c)
	for _, t := range types {
		one := typeViewOf(t)
		one.UsedBy = users[t]
		v.Types = append(v.Types, one)
	}
	for _, one := range []count{{len(c.Events), "event"}, {len(types), "type"}, {subscriptions, "declared subscription"}, {schedules, "schedule"}} {
		if one.N == 0 && one.Noun == "schedule" {
			continue
		}
		if one.N != 1 {
			one.Noun += "s"
		}
		v.Counts = append(v.Counts, one)
	}
	return v
}

// typesOf lists the types that have an entry. Old payloads are part of their event.
func typesOf(c *catalog.Catalogue) []*catalog.Type {
	old := map[*catalog.Type]bool{}
	for _, e := range c.Events {
		for _, shape := range e.History {
			old[shape.Type] = true
		}
	}
	return slices.DeleteFunc(slices.Concat(c.Types, c.Imported), func(t *catalog.Type) bool { return old[t] })
}

// add puts an event into the group of its namespace. Groups are in the order of
// their first events.
func (v *view) add(e eventView) {
	name := strings.TrimSuffix(e.Prefix, ".")
	for i := range v.Groups {
		if v.Groups[i].Name == name {
			v.Groups[i].Events = append(v.Groups[i].Events, e)
			return
		}
	}
	v.Groups = append(v.Groups, group{name, []eventView{e}})
}

func eventViewOf(c *catalog.Catalogue, e *catalog.Event) eventView {
	cut := strings.LastIndexByte(e.Name.V, '.') + 1
	v := eventView{
		Name: e.Name.V, ID: "event-" + e.Label(), Prefix: e.Name.V[:cut], Last: e.Name.V[cut:], GoName: e.InGo(e.GoName),
		Doc: paragraphs(e.Doc), Deprecated: e.Deprecated.V, IsDeprecated: e.Deprecated.Written(), Owner: e.Owner.V,
		Fields: fieldViews(e.Fields), Example: pretty(e.Sample()), Delivery: deliveryOf(e.Settings),
		At: place(c, e.Name.Pos),
	}
	v.Schema = e.Schema.V
	v.Tags, v.Formerly, v.Reserved = texts(e.Tags), texts(e.Aliases), texts(e.Reserved)
	if e.Version.V > 1 {
		v.Version = e.Version.V
	}
	for _, old := range slices.Backward(e.History) {
		v.History = append(v.History, oldView{old.Version.V, paragraphs(old.Doc), fieldViews(old.Type.Fields)})
	}
	if e.Settings.Priority.V != catalog.Normal {
		v.Priority = e.Settings.Priority.V.String()
	}
	if e.CloudEvents != nil {
		v.CloudEvent = strings.Join(e.CloudEvents.Lines(e), ", ")
	}
	if e.PartitionBy != nil {
		v.PartitionBy = e.PartitionBy.Name.V
	}
	if e.DedupeBy != nil {
		v.DedupeBy = e.DedupeBy.Name.V
	}
	if e.AwaitBy != nil {
		v.AwaitBy = e.AwaitBy.Name.V
	}
	for _, h := range e.Headers {
		v.Headers = append(v.Headers, headerView{h.Name.V, h.InShort(), h.Doc})
	}
	if e.Result != nil {
		v.Result = &fieldView{Type: typeParts(e.Result.Type), Optional: e.Result.Type.Optional, Nullable: e.Result.Type.Nullable, Doc: paragraphs(e.Result.Doc)}
	}
	for _, s := range e.Subscriptions {
		own := deliveryOf(s.Settings)
		v.Subscriptions = append(v.Subscriptions, subscriptionView{
			Name: s.Name.V, ID: "subscription-" + s.Name.V, GoName: e.InGo(s.GoName), Doc: paragraphs(s.Doc), Formerly: texts(s.Aliases),
			Delivery: own, Same: own.equal(v.Delivery),
		})
		v.Subscriptions[len(v.Subscriptions)-1].Group = memberOfGroup(s)
	}
	for _, s := range e.Patterns {
		own := deliveryOf(s.For(e))
		v.Subscriptions = append(v.Subscriptions, subscriptionView{
			Name: s.Name.V, GoName: s.GoName, Of: "subscription-" + s.Name.V, Patterns: s.Texts(), Delivery: own, Same: own.equal(v.Delivery),
		})
	}
	for _, s := range e.Schedules {
		one := scheduleView{Name: s.Name.V, When: s.When(), Missed: missed[s.Missed.V], Doc: paragraphs(s.Doc)}
		if len(e.Fields) > 0 {
			one.Payload = string(s.Payload)
		}
		v.Schedules = append(v.Schedules, one)
	}
	return v
}

func patternViewOf(s *catalog.PatternSubscription) patternView {
	v := patternView{
		Name: s.Name.V, ID: "subscription-" + s.Name.V, GoName: s.GoName, Patterns: s.Texts(), Group: memberOfGroup(&s.Subscription),
		Formerly: texts(s.Aliases), Doc: paragraphs(s.Doc),
	}
	for _, e := range s.Events {
		v.Events = append(v.Events, typePart{Text: e.Name.V, ID: "event-" + e.Label()})
	}
	return v
}

func memberOfGroup(s *catalog.Subscription) *memberOf {
	if s.Group == nil {
		return nil
	}
	return &memberOf{s.Group.Name.V, texts(s.Group.Aliases), paragraphs(s.Group.Doc)}
}

// missed says what becomes of times at which no process could publish.
var missed = map[string]string{
	schedule.Once: "The newest missed time is published.",
	schedule.Skip: "Missed times are skipped.",
	schedule.All:  "Every missed time is published.",
}

func texts(values []catalog.Value[string]) (all []string) {
	for _, v := range values {
		all = append(all, v.V)
	}
	return all
}

func fieldViews(fields []*catalog.Field) []fieldView {
	var all []fieldView
	for _, f := range fields {
		all = append(all, fieldView{
			Name: f.Name.V, Type: typeParts(f.Type), Optional: f.Type.Optional, Nullable: f.Type.Nullable, Doc: paragraphs(f.Doc),
			Rules: rules(f), Deprecated: f.Deprecated.V, IsDeprecated: f.Deprecated.Written(),
		})
	}
	return all
}

// typeParts splits the text of a type before the name of a declared type, which
// is a link.
func typeParts(t *catalog.TypeRef) []typePart {
	text, _ := catalog.CutMark(t.Text)
	named := t.Uses()
	if named == nil {
		return []typePart{{Text: text}}
	}
	name := named.Name.V
	if named.Inline {
		name = "{}"
	}
	if before, found := strings.CutSuffix(text, name); found && before != "" {
		return []typePart{{Text: before}, link(named)}
	}
	return []typePart{link(named)}
}

func link(t *catalog.Type) typePart { return typePart{t.Name.V, "type-" + t.Name.V} }

func typeViewOf(t *catalog.Type) typeView {
	v := typeView{
		Name: t.Name.V, ID: link(t).ID, Kind: "struct", Schema: t.Schema.V, Doc: paragraphs(t.Doc), Deprecated: t.Deprecated.V, IsDeprecated: t.Deprecated.Written(),
		Fields: fieldViews(t.Fields), Reserved: texts(t.Reserved),
	}
	switch {
	case t.Inline:
		v.Kind = "struct in place"
	case t.IsEnum():
		v.Kind = "enum"
		for _, value := range t.Values {
			one := valueView{Name: value.Name.V, Doc: paragraphs(value.Doc), Deprecated: value.Deprecated.V, IsDeprecated: value.Deprecated.Written()}
			if t.Integer {
				one.Number = number(value.Number)
			}
			v.Values = append(v.Values, one)
		}
	case t.IsUnion():
		v.Kind, v.Discriminator = "union", t.Discriminator.V
		for _, variant := range t.Variants {
			v.Variants = append(v.Variants, variantView{variant.Name.V, []typePart{link(variant.Type)}})
		}
	case t.IsScalar():
		v.Kind, v.Scalar, v.Rules = "scalar", typeParts(t.Scalar), constraintWords(t.Scalar, t.Constraints)
	case t.IsCustom():
		v.Kind, v.Custom, v.JSON = "Go type", t.Custom.Import.V+"."+t.Custom.Name.V, typeParts(t.Custom.JSON)
	}
	return v
}

// usersOf says for each type where it is used directly.
func usersOf(c *catalog.Catalogue) map[*catalog.Type][]typePart {
	users := map[*catalog.Type][]typePart{}
	note := func(user typePart, fields []*catalog.Field, mixins []*catalog.Mixin) {
		seen := map[*catalog.Type]bool{}
		uses := func(t *catalog.Type) {
			if t != nil && !seen[t] {
				seen[t] = true
				users[t] = append(users[t], user)
			}
		}
		for _, m := range mixins {
			uses(m.Type)
		}
		for _, f := range fields {
			uses(f.Type.Uses())
		}
	}
	for _, e := range c.Events {
		fields, mixins := slices.Clone(e.Values()), slices.Clone(e.Mixins)
		for _, old := range e.History {
			fields, mixins = append(fields, old.Type.Fields...), append(mixins, old.Type.Mixins...)
		}
		note(typePart{e.Name.V, "event-" + e.Label()}, fields, mixins)
	}
	for _, t := range typesOf(c) {
		note(link(t), t.Fields, t.Mixins)
		for _, v := range t.Variants {
			users[v.Type] = append(users[v.Type], link(t))
		}
	}
	return users
}

// pretty breaks JSON into lines.
func pretty(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
