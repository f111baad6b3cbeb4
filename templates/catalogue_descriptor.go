package templates

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/schedule"
)

// descriptorName returns the name of the variable that describes an event type to the runtime.
func descriptorName(e *catalog.Event) string { return e.GoName + "Type" }

// descriptor emits
//
//	// <Event>Type describes <event.name> to the runtime.
//	var <Event>Type = (*runtime.EventType[<Event>])(bind.Describe((*<Event>)(nil), &bind.Description{
//		Name:          "<name on the wire>",
//		Label:         "<event.name>",
//		Doc:           "<doc>",
//		Shared:        &catalogueSettings,
//		Own:           <override>,
//		Priority:      new(runtime.Priority<…>),
//		PartitionBy:   "<Field>",
//		DedupeBy:      "<Field>",
//		AwaitBy:       []string{"<field>"},
//		LimitKeys:     <fields>,
//		Version:       <n>,
//		Upcasts:       <steps>,
//		Aliases:       []string{"<name>"},
//		Shape:         "<digest>",
//		Schema:        schemaOf<Event>,
//		Subscriptions: <declared>,
//		Schedules:     <schedules>,
//	}))
//
// without the fields that are empty.
func descriptor(e *catalog.Event) *jen.Statement {
	fields := []jen.Code{pair("Name", jen.Lit(e.Name.V))}
	add := func(has bool, field string, value func() *jen.Statement) {
		if has {
			fields = append(fields, pair(field, value()))
		}
	}
	add(e.Label() != e.Name.V, "Label", func() *jen.Statement { return jen.Lit(e.Label()) })
	add(e.Doc != "", "Doc", func() *jen.Statement { return jen.Lit(e.Doc) })
	add(true, "Shared", func() *jen.Statement { return jen.Op("&").Id(sharedName) })
	fields = append(fields, overrideField("Own", e.Own)...)
	fields = append(fields, priorityField(e.Own)...)
	add(e.PartitionBy != nil, "PartitionBy", func() *jen.Statement { return jen.Lit(fieldPath(e.PartitionBy)) })
	add(e.DedupeBy != nil, "DedupeBy", func() *jen.Statement { return jen.Lit(fieldPath(e.DedupeBy)) })
	add(e.AwaitBy != nil, "AwaitBy", func() *jen.Statement { return awaitBy(e.AwaitBy) })
	add(len(e.LimitKeys) > 0, "LimitKeys", func() *jen.Statement { return limitKeys(e) })
	add(e.Version.V > 1, "Version", func() *jen.Statement { return version(e) })
	add(len(e.History) > 0, "Upcasts", func() *jen.Statement { return upcasts(e) })
	add(len(e.Aliases) > 0, "Aliases", func() *jen.Statement { return names(e.Aliases) })
	fields = append(fields, pair("Shape", jen.Lit(e.Shape())), pair("Schema", jen.Id(eventSchemaName(e))))
	add(len(e.Subscriptions) > 0, "Subscriptions", func() *jen.Statement { return declared(e) })
	add(len(e.Schedules) > 0, "Schedules", func() *jen.Statement { return schedules(e) })
	return comment(descriptorName(e)+" describes "+e.Name.V+" to the runtime.", upcastsWanted(e)).
		Var().Id(descriptorName(e)).Op("=").Parens(jen.Op("*").Add(inRuntime("EventType")).Types(jen.Id(e.GoName))).
		Parens(inBind("Describe").Call(nilPointer(e.GoName), jen.Op("&").Add(inBind("Description")).Custom(linesInBraces, fields...)))
}

// fieldPath returns the Go names of fields, with dots between them.
func fieldPath(path ...*catalog.Field) string {
	var names []string
	for _, f := range path {
		names = append(names, f.GoName)
	}
	return strings.Join(names, ".")
}

// awaitBy emits
//
//	[]string{"<field>", "<former name>"}
//
// with the names in JSON.
func awaitBy(f *catalog.Field) *jen.Statement {
	return names(append([]catalog.Value[string]{f.Name}, f.Was...))
}

// declared emits
//
//	[]bind.Declaration{
//		{
//			Name:     On<Event><Subscription>.name,
//			Own:      <override>,
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
		fields := []jen.Code{pair("Name", jen.Id(s.GoName).Dot("name"))}
		fields = append(fields, overrideField("Own", s.Own)...)
		if len(s.Aliases) > 0 {
			fields = append(fields, pair("Aliases", names(s.Aliases)))
		}
		if s.Group != nil {
			fields = append(fields, pair("Group", jen.Lit(s.Group.Name.V)))
		}
		if s.Group != nil && len(s.Group.Aliases) > 0 {
			fields = append(fields, pair("GroupAliases", names(s.Group.Aliases)))
		}
		if len(fields) == 1 {
			items = append(items, jen.Values(fields...))
			continue
		}
		items = append(items, jen.Custom(linesInBraces, fields...))
	}
	return jen.Index().Add(inBind("Declaration")).Custom(linesInBraces, items...)
}

// schedules emits
//
//	[]declare.Schedule{
//		{
//			Name:     "<name>",
//			Doc:      "<doc>",
//			Cron:     "<expression>",
//			TimeZone: "<name>",
//			Every:    <duration>,
//			Missed:   declare.Missed<…>,
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
			fields = append(fields, pair("Missed", inDeclare("MissedSkip")))
		case schedule.All:
			fields = append(fields, pair("Missed", inDeclare("MissedAll")))
		}
		fields = append(fields, pair("Payload", raw(string(s.Payload))))
		items = append(items, jen.Custom(linesInBraces, fields...))
	}
	return jen.Index().Add(inDeclare("Schedule")).Custom(linesInBraces, items...)
}
