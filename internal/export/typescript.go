package export

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
)

// TypeScript returns a module of TypeScript with a type for the payload of each event and for each declared type, a
// type guard for each of them, and AnyEvent, the union of all events. The module imports nothing.
//
// A guard checks what the type says: the fields, their kinds, and the values of an enum. It does not check
// constraints such as a pattern. As in the other exports, a field that is not in the catalogue is allowed.
func TypeScript(c *catalog.Catalogue) []byte {
	s := &script{names: map[*catalog.Type]string{}, calls: map[string]bool{}}
	types := typesIn(c)
	s.name(c.Events, types)
	s.line("// Made by `busgen export typescript` from the catalogue of package %s. Change the catalogue, not this file.", c.Package.V)
	s.line("//")
	s.line("// A guard such as %s tells whether a value has the form of the type: its fields, their kinds, and the values of", exampleGuard(c))
	s.line("// enums. Fields that are not known are allowed, and patterns, limits and formats are not checked. JSON.parse reads")
	s.line("// an integer beyond 2^53 as the nearest number: it loses digits.")
	for _, t := range types {
		s.declared(t)
	}
	for _, e := range c.Events {
		s.doc("", e.Doc, e.Deprecated)
		s.fields(e.GoName, e.Fields)
	}
	s.union(c.Events)
	for _, h := range helpers {
		if h.name == "record" || s.calls[h.name] {
			s.b.WriteString(h.text)
		}
	}
	return []byte(s.b.String())
}

func exampleGuard(c *catalog.Catalogue) string {
	if len(c.Events) == 0 {
		return "isAnyEvent"
	}
	return "is" + c.Events[0].GoName
}

// script is a module that is being written.
type script struct {
	b     strings.Builder
	names map[*catalog.Type]string
	calls map[string]bool // which helpers are called
}

func (s *script) line(format string, args ...any) {
	fmt.Fprintf(&s.b, format, args...)
	s.b.WriteByte('\n')
}

// name gives each type a name that nothing else in the module has: those of other catalogues have the name of the
// import in front, as in SharedMoney.
func (s *script) name(events []*catalog.Event, types []*catalog.Type) {
	taken := map[string]bool{"AnyEvent": true, "EventName": true, "Payloads": true}
	for _, e := range events {
		taken[e.GoName] = true
	}
	for _, t := range types {
		own := ""
		for part := range strings.SplitSeq(t.Name.V, ".") {
			own += strings.ToUpper(part[:1]) + part[1:]
		}
		free := own
		for n := 2; taken[free]; n++ {
			free = own + strconv.Itoa(n)
		}
		taken[free] = true
		s.names[t] = free
	}
}

// doc writes a comment in front of what follows.
func (s *script) doc(indent, doc string, deprecated catalog.Value[string]) {
	if deprecated.Written() {
		doc = strings.TrimSpace(doc + "\n\n@deprecated " + deprecated.V)
	}
	doc = strings.TrimSpace(strings.ReplaceAll(doc, "*/", "*\\/"))
	if indent == "" {
		s.b.WriteByte('\n')
	}
	switch lines := strings.Split(doc, "\n"); {
	case doc == "":
	case len(lines) == 1:
		s.line("%s/** %s */", indent, doc)
	default:
		s.line("%s/**", indent)
		for _, l := range lines {
			s.line("%s", strings.TrimRight(indent+" * "+strings.TrimRight(l, " \t\r"), " "))
		}
		s.line("%s */", indent)
	}
}

// declared writes a declared type with its guard.
func (s *script) declared(t *catalog.Type) {
	name := s.names[t]
	s.doc("", t.Doc, t.Deprecated)
	switch {
	case t.IsCustom():
		s.alias(name, t.Custom.JSON, catalog.Constraints{})
	case t.IsScalar():
		s.alias(name, t.Scalar, t.Constraints)
	case t.IsEnum():
		s.enum(name, t)
	case t.IsUnion():
		s.variants(name, t)
	default:
		s.fields(name, t.Fields)
	}
}

// guard writes the head of a guard.
func (s *script) guard(name string) { s.line("\nexport function is%s(v: unknown): v is %[1]s {", name) }

func (s *script) alias(name string, t *catalog.TypeRef, c catalog.Constraints) {
	s.line("export type %s = %s;", name, s.typeOf(t, c))
	s.guard(name)
	s.line("  return %s;\n}", s.check("v", t, c))
}

func (s *script) enum(name string, t *catalog.Type) {
	s.line("export type %s =", name)
	var values []string
	for i, v := range t.Values {
		value := quoted(v.Name.V)
		if t.Integer {
			value = strconv.Itoa(v.Number)
		}
		values = append(values, value)
		doc := v.Doc
		if t.Integer {
			doc = strings.TrimSuffix(v.Name.V+": "+doc, ": ")
		}
		s.doc("  ", doc, v.Deprecated)
		end := ""
		if i == len(t.Values)-1 {
			end = ";"
		}
		s.line("  | %s%s", value, end)
	}
	s.guard(name)
	s.line("  return ([%s] as unknown[]).includes(v);\n}", strings.Join(values, ", "))
}

// variants writes a union: the discriminator tells its structs apart.
func (s *script) variants(name string, t *catalog.Type) {
	key := t.Discriminator.V
	s.line("export type %s =", name)
	for i, v := range t.Variants {
		end := ""
		if i == len(t.Variants)-1 {
			end = ";"
		}
		s.line("  | ({ %s: %s } & %s)%s", property(key), quoted(v.Name.V), s.names[v.Type], end)
	}
	s.guard(name)
	s.line("  if (!record(v)) return false;")
	s.line("  switch (v[%s]) {", quoted(key))
	for _, v := range t.Variants {
		s.line("    case %s:\n      return is%s(v);", quoted(v.Name.V), s.names[v.Type])
	}
	s.line("    default:\n      return false;\n  }\n}")
}

// fields writes an interface with its guard.
func (s *script) fields(name string, fields []*catalog.Field) {
	s.line("export interface %s {", name)
	checks := []string{"record(v)"}
	for _, f := range fields {
		s.doc("  ", f.Doc, f.Deprecated)
		key, absent := property(f.Name.V), ""
		if f.Type.Optional {
			absent = "?"
		}
		s.line("  %s%s: %s;", key, absent, s.typeOf(f.Type, f.Constraints))
		if check := s.check("v["+quoted(f.Name.V)+"]", f.Type, f.Constraints); check != "true" {
			checks = append(checks, check)
		}
	}
	s.line("}")
	s.guard(name)
	s.line("  return (\n    %s\n  );\n}", strings.Join(checks, " &&\n    "))
}

// union writes AnyEvent, and what belongs to it.
func (s *script) union(events []*catalog.Event) {
	s.line("\n/** The payload of each event, by the name of the event. */")
	s.line("export interface Payloads {")
	for _, e := range events {
		s.line("  %s: %s;", quoted(e.Name.V), e.GoName)
	}
	s.line("}")
	s.line("\nexport type EventName = keyof Payloads;")
	s.line(`
/**
 * An event with its payload: type tells which one. A CloudEvent in JSON has these two, and more. If its source puts a
 * prefix before the names of its events, such as "com.example.", take that away first.
 */
export type AnyEvent = { [N in EventName]: { type: N; data: Payloads[N] } }[EventName];

/** The guard of each payload, by the name of the event. */
export const guards: { readonly [N in EventName]: (v: unknown) => v is Payloads[N] } = {`)
	for _, e := range events {
		s.line("  %s: is%s,", quoted(e.Name.V), e.GoName)
	}
	s.line(`};

export function isAnyEvent(v: unknown): v is AnyEvent {
  if (!record(v)) return false;
  const type = v["type"];
  if (typeof type !== "string" || !Object.hasOwn(guards, type)) return false;
  const guard: (v: unknown) => boolean = guards[type as EventName];
  return guard(v["data"]);
}`)
}

// typeOf is a type in TypeScript.
func (s *script) typeOf(t *catalog.TypeRef, c catalog.Constraints) string {
	if mayBeNull(t, c) {
		return s.valueType(t, c) + " | null"
	}
	return s.valueType(t, c)
}

func (s *script) valueType(t *catalog.TypeRef, c catalog.Constraints) string {
	if named := declared(t); named != nil {
		return s.names[named]
	}
	switch t.Kind {
	case catalog.JSON:
		return "unknown"
	case catalog.Bool:
		return "boolean"
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64:
		return "number"
	case catalog.List:
		elem := s.typeOf(t.Elem, c.OfEach())
		if strings.Contains(elem, " ") {
			elem = "(" + elem + ")"
		}
		return elem + "[]"
	case catalog.Map:
		return "{ [key: string]: " + s.typeOf(t.Elem, c.OfEach()) + " }"
	default:
		return "string"
	}
}

// check is an expression that tells whether a value has a type.
func (s *script) check(value string, t *catalog.TypeRef, c catalog.Constraints) string {
	check := s.valueCheck(value, t, c)
	switch {
	case check == "true" && (t.Optional || t.Kind == catalog.JSON && !strings.HasPrefix(value, "v[")):
		return check
	case t.Optional:
		return "(" + value + " == null || " + check + ")"
	case check == "true":
		return value + " !== undefined"
	case mayBeNull(t, c):
		return "(" + value + " === null || " + check + ")"
	}
	return check
}

func (s *script) valueCheck(value string, t *catalog.TypeRef, c catalog.Constraints) string {
	if named := declared(t); named != nil {
		return "is" + s.names[named] + "(" + value + ")"
	}
	of := "" // what is in a list or a map
	if t.IsCollection() {
		if of = s.check("e", t.Elem, c.OfEach()); of != "true" {
			of = "(e) => " + of
		} else {
			of = "() => true"
		}
	}
	switch t.Kind {
	case catalog.JSON:
		return "true"
	case catalog.Bool:
		return "typeof " + value + ` === "boolean"`
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64:
		return "Number.isInteger(" + value + ")"
	case catalog.Float64:
		return "typeof " + value + ` === "number"`
	case catalog.List:
		s.calls["list"] = true
		return "list(" + value + ", " + of + ")"
	case catalog.Map:
		s.calls["map"] = true
		return "map(" + value + ", " + of + ")"
	default:
		return "typeof " + value + ` === "string"`
	}
}

// helpers are functions that guards call. Their names begin with a small letter and not with "is", so no guard has them.
var helpers = []struct{ name, text string }{
	{"record", `
function record(v: unknown): v is { [key: string]: unknown } {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}
`},
	{"list", `
function list(v: unknown, of: (e: unknown) => boolean): boolean {
  return Array.isArray(v) && v.every(of);
}
`},
	{"map", `
function map(v: unknown, of: (e: unknown) => boolean): boolean {
  return record(v) && Object.values(v).every(of);
}
`},
}

// quoted is a text as a literal. JSON is one of TypeScript.
func quoted(text string) string {
	literal, _ := json.Marshal(text)
	return string(literal)
}

// property is a name as the key of an object.
func property(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quoted(name)
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
