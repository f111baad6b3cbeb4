package docpage

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
)

func parsed(t *testing.T, source string) *catalog.Catalogue {
	t.Helper()
	c, findings := parse.Text("shop/events.yaml", []byte(source))
	if findings != nil {
		t.Fatal(findings)
	}
	return c
}

func rendered(t *testing.T, c *catalog.Catalogue) string {
	t.Helper()
	page, err := Render(c, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// said is the text of a piece of HTML as a reader sees it, one blank between words.
func said(piece string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(piece, " ")), " "))
}

// entryOf is the part of the page that is about an event or a type.
func entryOf(t *testing.T, page, id string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, `<article class="entry" id="`+id+`">`)
	entry, _, closed := strings.Cut(rest, "</article>")
	if !found || !closed {
		t.Fatalf("the page has no entry %s", id)
	}
	return entry
}

// complete is a catalogue with all that a page can show.
func complete() *catalog.Catalogue {
	at := diag.Position{File: "shop/events.yaml", Line: 7, Column: 3}
	text := func(s string) catalog.Value[string] { return catalog.Value[string]{V: s, Pos: at} }
	number := func(n int) catalog.Value[int] { return catalog.Value[int]{V: n, Pos: at} }
	plain := func(kind catalog.Kind, text string) *catalog.TypeRef {
		return &catalog.TypeRef{Kind: kind, Text: text, Pos: at}
	}
	state := &catalog.Type{Name: text("State"), GoName: "State", Doc: "State is how it is.", Integer: true, Values: []*catalog.EnumValue{
		{Name: text("open"), Number: 1, Doc: "Nothing is decided."},
		{Name: text("shut"), Number: 2, Deprecated: text("Nobody shuts any more.")},
	}}
	card := &catalog.Type{Name: text("Card"), GoName: "Card", Fields: []*catalog.Field{{Name: text("number"), Type: plain(catalog.String, "string")}}}
	method := &catalog.Type{Name: text("Method"), GoName: "Method", Discriminator: text("kind"), Variants: []*catalog.Variant{{Name: text("by_card"), Type: card}}}
	colour := &catalog.Type{Name: text("Colour"), GoName: "Colour", Custom: &catalog.Custom{Import: text("example.org/paint"), Name: text("RGB"), JSON: plain(catalog.String, "string")}}
	named := func(t *catalog.Type, text string) *catalog.TypeRef {
		return &catalog.TypeRef{Kind: catalog.Named, Named: t, Text: text, Pos: at, Optional: strings.HasSuffix(text, "?")}
	}
	e := &catalog.Event{
		Name: text("order.placed"), GoName: "OrderPlaced", Doc: "A customer ordered.\n\nUse `order.paid` for the money.",
		Deprecated: text("Use order.accepted."), Owner: text("team-checkout"), Tags: []catalog.Value[string]{text("money"), text("core")},
		Examples: []*catalog.Example{{JSON: json.RawMessage(`{"state":1}`), Pos: at}},
		Fields: []*catalog.Field{
			{Name: text("state"), Type: named(state, "State")},
			{Name: text("method"), Type: named(method, "Method?"), Doc: "How it is paid."},
			{Name: text("colours"), Type: &catalog.TypeRef{Kind: catalog.List, Elem: named(colour, "Colour"), Text: "[]Colour", Pos: at},
				Constraints: catalog.Constraints{MinItems: number(1), MaxItems: number(3), Unique: catalog.Value[bool]{V: true, Pos: at}}},
			{Name: text("note"), Type: plain(catalog.String, "string"), Deprecated: text("Nobody reads it."),
				Constraints: catalog.Constraints{MaxLength: number(200), Pattern: catalog.Value[catalog.Pattern]{V: catalog.Pattern{Text: "^[a-z]<3$"}, Pos: at}, Format: text("email")}},
			{Name: text("count"), Type: plain(catalog.Int, "int"), Constraints: catalog.Constraints{Min: catalog.Value[catalog.Bound]{V: catalog.NewBound(catalog.Int, "1"), Pos: at}},
				Default: catalog.Value[json.RawMessage]{V: json.RawMessage("5"), Pos: at}},
		},
	}
	base, _ := parse.Text("x", []byte("version: 1\npackage: p\nevents: { e: {} }"))
	e.Settings = base.Events[0].Settings
	return &catalog.Catalogue{
		File: "shop/events.yaml", Package: text("shop"), Events: []*catalog.Event{e}, Types: []*catalog.Type{state, card, method, colour},
	}
}
