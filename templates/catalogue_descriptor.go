package templates

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/internal/schedule"
)

// descriptorName returns the name of the variable that describes an event type to the runtime.
func descriptorName(e *catalog.Event) string { return e.GoName + "Type" }

// descriptor emits
//
//	// <Event>Type describes <event.name> to the runtime.
//	var <Event>Type = runtime.Define(runtime.Spec[<Event>]{
//		Name:          "<event.name>",
//		Doc:           "<doc>",
//		Settings:      <settings>,
//		Priority:      runtime.Priority<…>,
//		PartitionBy:   <function>,
//		DedupeBy:      <function>,
//		LimitKeys:     <functions>,
//		Version:       <n>,
//		Upcasts:       <steps>,
//		Aliases:       []string{"<name>"},
//		Shape:         "<digest>",
//		Schema:        `<json>`,
//		Subscriptions: <declared>,
//		Schedules:     <schedules>,
//	})
//
// without the fields that are empty.
func descriptor(e *catalog.Event) *jen.Statement {
	fields := []jen.Code{pair("Name", jen.Lit(e.Name.V))}
	if e.Doc != "" {
		fields = append(fields, pair("Doc", jen.Lit(e.Doc)))
	}
	fields = append(fields, pair("Settings", settings(e.Settings)))
	switch e.Settings.Priority.V {
	case catalog.Critical:
		fields = append(fields, pair("Priority", inRuntime("PriorityCritical")))
	case catalog.High:
		fields = append(fields, pair("Priority", inRuntime("PriorityHigh")))
	case catalog.Low:
		fields = append(fields, pair("Priority", inRuntime("PriorityLow")))
	}
	if e.PartitionBy != nil {
		fields = append(fields, pair("PartitionBy", keyOf(e, e.PartitionBy)))
	}
	if e.DedupeBy != nil {
		fields = append(fields, pair("DedupeBy", keyOf(e, e.DedupeBy)))
	}
	if len(e.LimitKeys) > 0 {
		fields = append(fields, pair("LimitKeys", limitKeys(e)))
	}
	if e.Version.V > 1 {
		fields = append(fields, pair("Version", version(e)))
	}
	if len(e.History) > 0 {
		fields = append(fields, pair("Upcasts", upcasts(e)))
	}
	if len(e.Aliases) > 0 {
		fields = append(fields, pair("Aliases", names(e.Aliases)))
	}
	fields = append(fields, pair("Shape", jen.Lit(e.Shape())), pair("Schema", jen.Id("`"+escapeInJSON(schema.Of(e))+"`")))
	if len(e.Subscriptions) > 0 {
		fields = append(fields, pair("Subscriptions", declared(e)))
	}
	if len(e.Schedules) > 0 {
		fields = append(fields, pair("Schedules", schedules(e)))
	}
	return comment(descriptorName(e)+" describes "+e.Name.V+" to the runtime.", upcastsWanted(e)).
		Var().Id(descriptorName(e)).Op("=").Add(inRuntime("Define")).
		Call(inRuntime("Spec").Types(jen.Id(e.GoName)).Custom(linesInBraces, fields...))
}

// declared emits
//
//	[]runtime.DeclaredSubscription{
//		{
//			Name:     On<Event><Subscription>,
//			Settings: <settings>,
//			Aliases:  []string{"<name>"},
//			Group:    "<name>",
//			GroupAliases: []string{"<name>"},
//		},
//	}
//
// without what a subscription does not have.
func declared(e *catalog.Event) *jen.Statement {
	var items []jen.Code
	for _, s := range e.Subscriptions {
		fields := []jen.Code{pair("Name", jen.Id(s.GoName)), pair("Settings", settings(s.Settings))}
		if len(s.Aliases) > 0 {
			fields = append(fields, pair("Aliases", names(s.Aliases)))
		}
		if s.Group != nil {
			fields = append(fields, pair("Group", jen.Lit(s.Group.Name.V)))
		}
		if s.Group != nil && len(s.Group.Aliases) > 0 {
			fields = append(fields, pair("GroupAliases", names(s.Group.Aliases)))
		}
		items = append(items, jen.Custom(linesInBraces, fields...))
	}
	return jen.Index().Add(inRuntime("DeclaredSubscription")).Custom(linesInBraces, items...)
}

// schedules emits
//
//	[]runtime.Schedule{
//		{
//			Name:     "<name>",
//			Doc:      "<doc>",
//			Cron:     "<expression>",
//			TimeZone: "<name>",
//			Every:    <duration>,
//			Missed:   runtime.Missed<…>,
//			Payload:  `<json>`,
//		},
//	}
//
// without what is not written.
func schedules(e *catalog.Event) *jen.Statement {
	var items []jen.Code
	for _, s := range e.Schedules {
		fields := []jen.Code{pair("Name", jen.Lit(s.Name.V))}
		if s.Doc != "" {
			fields = append(fields, pair("Doc", jen.Lit(s.Doc)))
		}
		if s.Every.Written() {
			fields = append(fields, pair("Every", duration(s.Every.V)))
		} else {
			fields = append(fields, pair("Cron", jen.Lit(s.Cron.V)))
		}
		if s.Zone.Written() {
			fields = append(fields, pair("TimeZone", jen.Lit(s.Zone.V)))
		}
		switch s.Missed.V {
		case schedule.Skip:
			fields = append(fields, pair("Missed", inRuntime("MissedSkip")))
		case schedule.All:
			fields = append(fields, pair("Missed", inRuntime("MissedAll")))
		}
		fields = append(fields, pair("Payload", jen.Id("`"+escapeInJSON(string(s.Payload))+"`")))
		items = append(items, jen.Custom(linesInBraces, fields...))
	}
	return jen.Index().Add(inRuntime("Schedule")).Custom(linesInBraces, items...)
}

// keyOf emits
//
//	func(p <Event>) string { return <p.Field.Field as text> }
//
// for the fields of a path.
func keyOf(e *catalog.Event, path ...*catalog.Field) *jen.Statement {
	value := jen.Id(payloadReceiver)
	for _, f := range path {
		value.Dot(f.GoName)
	}
	return jen.Func().Params(jen.Id(payloadReceiver).Id(e.GoName)).String().
		Custom(oneLineBody, jen.Return(asText(path[len(path)-1].Type, value)))
}

// asText emits the conversion of a scalar to a key, a string. Equal values have equal keys.
func asText(t *catalog.TypeRef, value *jen.Statement) jen.Code {
	if t.Scalar != nil {
		return asText(t.Scalar.Scalar, bareType(t.Scalar.Scalar).Call(value))
	}
	switch t.Kind {
	case catalog.String:
		return value
	case catalog.Bool:
		return jen.Qual("strconv", "FormatBool").Call(value)
	case catalog.Int:
		return jen.Qual("strconv", "Itoa").Call(value)
	case catalog.Int32:
		return jen.Qual("strconv", "Itoa").Call(jen.Int().Call(value))
	case catalog.Int64:
		return jen.Qual("strconv", "FormatInt").Call(value, jen.Lit(10))
	case catalog.Uint64:
		return jen.Qual("strconv", "FormatUint").Call(value, jen.Lit(10))
	case catalog.UUID:
		return value.Dot("String").Call()
	case catalog.Named: // an enum
		if t.Named.Integer {
			return jen.Qual("strconv", "Itoa").Call(jen.Int().Call(value))
		}
		return jen.String().Call(value)
	}
	panic(fmt.Sprintf("templates: a field of type %s cannot be a key", t.Text))
}
