package templates

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/retry"
)

// descriptorName is the variable that describes an event type to the runtime.
func descriptorName(e *catalog.Event) string { return e.GoName + "Type" }

// descriptor emits
//
//	// <Event>Type describes <event.name> to the runtime.
//	var <Event>Type = runtime.Define(runtime.Spec[<Event>]{
//		Name:        "<event.name>",
//		Doc:         "<doc>",
//		Retry:       <policy>,
//		Timeout:     <duration>,
//		Priority:    runtime.Priority<…>,
//		PartitionBy: <function>,
//		Subscriptions: <declared>,
//	})
//
// without the doc, priority, partition and subscriptions of an event that has none.
func descriptor(e *catalog.Event) *jen.Statement {
	fields := []jen.Code{pair("Name", jen.Lit(e.Name.V))}
	if e.Doc != "" {
		fields = append(fields, pair("Doc", jen.Lit(e.Doc)))
	}
	fields = append(fields,
		pair("Retry", policy(e.Settings.Policy())),
		pair("Timeout", duration(e.Settings.Timeout.V)),
	)
	switch e.Settings.Priority.V {
	case catalog.High:
		fields = append(fields, pair("Priority", inRuntime("PriorityHigh")))
	case catalog.Low:
		fields = append(fields, pair("Priority", inRuntime("PriorityLow")))
	}
	if e.PartitionBy != nil {
		fields = append(fields, pair("PartitionBy", partition(e)))
	}
	if len(e.Subscriptions) > 0 {
		fields = append(fields, pair("Subscriptions", declared(e)))
	}
	return comment(descriptorName(e) + " describes " + e.Name.V + " to the runtime.").
		Var().Id(descriptorName(e)).Op("=").Add(inRuntime("Define")).
		Call(inRuntime("Spec").Types(jen.Id(e.GoName)).Custom(linesInBraces, fields...))
}

// declared emits
//
//	[]runtime.DeclaredSubscription{
//		{
//			Name:    On<Event><Subscription>,
//			Retry:   <policy>,
//			Timeout: <duration>,
//		},
//	}
func declared(e *catalog.Event) *jen.Statement {
	var items []jen.Code
	for _, s := range e.Subscriptions {
		items = append(items, jen.Custom(linesInBraces,
			pair("Name", jen.Id(s.GoName)),
			pair("Retry", policy(s.Settings.Policy())),
			pair("Timeout", duration(s.Settings.Timeout.V)),
		))
	}
	return jen.Index().Add(inRuntime("DeclaredSubscription")).Custom(linesInBraces, items...)
}

// policy emits
//
//	retry.Policy{
//		MaxAttempts: <n>,
//		Backoff:     retry.<Shape>,
//		BaseDelay:   <duration>,
//		MaxDelay:    <duration>,
//		Multiplier:  <m>,
//		Jitter:      <j>,
//	}
//
// with every field, so that the numbers can be read without knowing what was
// inherited from where.
func policy(p retry.Policy) *jen.Statement {
	shape := map[retry.Backoff]string{
		retry.Exponential: "Exponential",
		retry.Linear:      "Linear",
		retry.Constant:    "Constant",
		retry.None:        "None",
	}[p.Backoff]
	return jen.Qual(retryPath, "Policy").Custom(linesInBraces,
		pair("MaxAttempts", jen.Lit(p.MaxAttempts)),
		pair("Backoff", jen.Qual(retryPath, shape)),
		pair("BaseDelay", duration(p.BaseDelay)),
		pair("MaxDelay", duration(p.MaxDelay)),
		pair("Multiplier", number(p.Multiplier)),
		pair("Jitter", number(p.Jitter)),
	)
}

func pair(field string, value jen.Code) jen.Code { return jen.Id(field).Op(":").Add(value) }

// number emits a constant the way a person writes it: 2 and 0.1, where
// jennifer would write 2.0.
func number(f float64) *jen.Statement { return jen.Op(strconv.FormatFloat(f, 'g', -1, 64)) }

// duration emits
//
//	<n> * time.<Unit>
//
// in the largest unit that divides it, or just the unit for n = 1.
func duration(d time.Duration) *jen.Statement {
	units := []struct {
		size time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"},
		{time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}, {time.Nanosecond, "Nanosecond"},
	}
	for _, unit := range units {
		switch {
		case d == unit.size:
			return jen.Qual("time", unit.name)
		case d != 0 && d%unit.size == 0:
			return jen.Lit(int(d/unit.size)).Op("*").Qual("time", unit.name)
		}
	}
	return jen.Lit(0)
}

// partition emits
//
//	func(p <Event>) string { return <p.Field as text> }
func partition(e *catalog.Event) *jen.Statement {
	value := jen.Id(payloadReceiver).Dot(e.PartitionBy.GoName)
	return jen.Func().Params(jen.Id(payloadReceiver).Id(e.GoName)).String().
		Custom(oneLineBody, jen.Return(asText(e.PartitionBy.Type, value)))
}

// asText emits the conversion of a scalar to the text by which deliveries are
// kept in order: equal values give equal texts.
func asText(t *catalog.TypeRef, value *jen.Statement) jen.Code {
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
		return jen.String().Call(value)
	}
	panic(fmt.Sprintf("templates: a field of type %s cannot order deliveries", t.Text))
}
