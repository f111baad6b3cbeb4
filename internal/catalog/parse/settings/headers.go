package settings

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/format"
)

// headerKeys are the keys of an entry of `headers:`.
var headerKeys = []string{"type", "required", "doc", "go_name"}

// headerName matches fewer names than the metadata of an event can have: a name must make a Go name, and be a header
// of other systems too.
var headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*$`)

// maxHeaderName is how many characters the name of a header may have.
const maxHeaderName = 100

// declaredHeader is the first entry of a header.
type declaredHeader struct {
	*catalog.Header
	what    string
	general bool // it is no entry of a policy
}

// Headers are the headers of one catalogue.
type Headers struct {
	*text.Reader
	names  *names.Names
	parts  *files.Parts
	types  *types.Types
	byName map[string]declaredHeader // without broken ones
}

// NewHeaders returns a reader of headers.
func NewHeaders(names *names.Names, parts *files.Parts, types *types.Types) *Headers {
	return &Headers{Reader: names.Reader, names: names, parts: parts, types: types, byName: map[string]declaredHeader{}}
}

// Read reads `headers:` of all files.
func (r *Headers) Read() []*catalog.Header { return r.list(r.parts.Sections("headers", "header"), "") }

// list reads entries of `headers:`, which are those of a policy or, without one, of all events.
func (r *Headers) list(entries []text.Entry, policy string) (all []*catalog.Header) {
	for _, e := range entries {
		if h := r.header(e, policy); h != nil {
			all = append(all, h)
		}
	}
	return all
}

// header reads an entry of `headers:`, which is that of a policy or, without one, of all events. It is nil after a
// finding about its name or its type.
func (r *Headers) header(e text.Entry, policy string) *catalog.Header {
	what := "header " + diag.Label(e.Name)
	if policy != "" {
		what += " of " + policy
	}
	first, known := r.byName[e.Name]
	h := &catalog.Header{Name: catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}}
	o := text.Object{Node: e.Value, What: what}
	short := e.Value.Kind == yaml.ScalarNode && !text.IsNull(e.Value)
	if short {
		h.Doc = r.CommentAbove(e.Key)
		h.Type = r.headerType(e.Value, what)
	} else {
		var ok bool
		if o, ok = r.Object(e.Value, what, headerKeys...); !ok {
			return nil
		}
		h.Doc = r.Doc(e.Key, o)
		h.Type = r.typeOfHeader(o, first, known && first.general && policy != "")
		h.Required = r.Flag(o, "required")
	}
	usual := r.names.GoName(e.Name)
	if known {
		usual = first.GoName
	}
	h.GoName = r.names.OwnGoName(o, usual)
	if !r.checkHeaderName(e, what) || h.Type == nil {
		return nil
	}
	if !known {
		r.byName[e.Name] = declaredHeader{h, what, policy == ""}
		return h
	}
	switch {
	case h.Type.Kind != first.Type.Kind:
		r.Report(r.Place(e.Key), rules.Header, "%s has the type %s, and %s has the type %s", what, h.Type.Text, first.what, first.Type.Text).
			See(r.NameAt(first.Name), "%s is here", first.what).
			Hint = "a header has one type in a catalogue: give one of them another name"
	case h.GoName != first.GoName:
		r.Report(r.Place(e.Key), rules.Header, "%s is %s in Go, and %s is %s", what, h.GoName, first.what, first.GoName).
			See(r.NameAt(first.Name), "%s is here", first.what).
			Hint = "a header has one go_name in a catalogue: write it in the first place only"
	}
	return h
}

// typeOfHeader reads the type of a header. A policy that only says whether a header is required need not repeat it.
func (r *Headers) typeOfHeader(o text.Object, first declaredHeader, mayInherit bool) *catalog.TypeRef {
	e, ok := o.Entries["type"]
	if ok {
		return r.headerType(e.Value, o.What)
	}
	_, required := o.Entries["required"]
	switch {
	case mayInherit && required:
		return first.Type
	case mayInherit:
		r.Report(r.Place(o.Node), rules.MissingKey, "%s does not say whether it is required", o.What).
			See(r.NameAt(first.Name), "that of all events is here").
			Hint = "add required: true or required: false, or remove it: the events of the policy have it from there"
	default:
		r.Required(o, "type", "say what it is, as in \"type: string\"")
	}
	return nil
}

// headerType reads the type of a header, or returns nil after a finding.
func (r *Headers) headerType(n *yaml.Node, what string) *catalog.TypeRef {
	text, ok := r.Text(n, "the type of "+what)
	if !ok {
		return nil
	}
	if slices.Contains(catalog.HeaderTypes, text.V) {
		return &catalog.TypeRef{Kind: catalog.Scalars[text.V], Text: text.V, Pos: text.Pos}
	}
	f := r.Report(r.Place(n), rules.Header, "%s has the type %s, which is not one of headers", what, diag.Label(text.V))
	bare, mark := catalog.CutMark(text.V)
	switch {
	case mark != "" && slices.Contains(catalog.HeaderTypes, bare):
		f.Hint = "write " + bare + ": a header that is not required may be missing"
	case r.types.ByName[text.V] != nil || files.IsImportedName(text.V):
		f.Hint = "its value is one text of the metadata: use a built-in type, or a field of the payload"
	default:
		f.Hint = cmp.Or(diag.DidYouMean(text.V, catalog.HeaderTypes), "use one of "+strings.Join(catalog.HeaderTypes, ", "))
	}
	return nil
}

// checkHeaderName reports a name that no header can have.
func (r *Headers) checkHeaderName(e text.Entry, what string) bool {
	switch reserved := format.ReservedHeader(e.Name); {
	case reserved != "":
		r.Report(r.Place(e.Key), rules.Header, "%s is not for a catalogue to declare", what).Hint = reserved
	case len(e.Name) > maxHeaderName:
		r.Report(r.Place(e.Key), rules.BadName, "%s has a name of %d characters", what, len(e.Name)).Hint = "use at most 100"
	case !headerName.MatchString(e.Name):
		r.Report(r.Place(e.Key), rules.BadName, "%s does not have a valid name", what).
			Hint = "begin with a letter and go on with letters, digits and single -, _ or . between them, as in request_id"
	default:
		return true
	}
	return false
}

// CheckSchedules reports schedules whose events need a header: the bus has no value for it.
func (r *Headers) CheckSchedules(schedules []*catalog.Schedule) {
	for _, s := range schedules {
		for _, h := range s.Event.Headers {
			if h.Required.V {
				r.Report(r.NameAt(s.Name), rules.Header, "schedule %s publishes event %s, which has the required header %s: the bus has no value for it", s.Name.V, s.Event.Label(), h.Name.V).
					See(r.NameAt(h.Name), "the header is here").
					Hint = "add a policy for " + s.Event.Label() + " with headers: { " + h.Name.V + ": { required: false } }"
			}
		}
	}
}
