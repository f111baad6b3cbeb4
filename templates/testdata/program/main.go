// Program uses the code of the package features, which is emitted from
// features.yaml: it sends values through JSON and back, copies and compares
// them, and prints what Validate and the descriptors say.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/templates/testdata/features"
)

func main() {
	full := features.OrderLineAdded{
		Line:        1,
		Everything:  everything(),
		Optional:    present(),
		Collections: collections(),
		Runtime:     "x",
		Time:        time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC),
		Problems:    []string{},
		I:           []float64{1},
	}
	roundTrip("everything present", full)

	sparse := full
	sparse.Optional = features.Optional{}
	sparse.Collections = features.Collections{}
	roundTrip("everything optional absent", sparse)
	text, _ := json.Marshal(sparse.Optional)
	fmt.Println("absent fields in JSON:", string(text))

	notUTF8 := "\xff"
	report("bad scalars", features.Everything{AString: notUTF8, AFloat64: math.NaN(), ADate: runtime.Date{Year: 2023, Month: 2, Day: 29}, ADecimal: "01", AnEnum: "pink", AnIntegerEnum: 3})
	report("bad optional values", features.Optional{AString: &notUTF8, ADate: new(runtime.Date), ADecimal: new(runtime.Decimal), AnEnum: new(features.Color), AnIntegerEnum: new(features.Level), AList: []string{"ok", notUTF8}})
	report("bad collections", features.Collections{
		Strings:      []string{"ok", notUTF8},
		Floats:       []float64{math.Inf(1)},
		Dates:        make([]runtime.Date, 1),
		Points:       []features.Point{{}, {X: math.NaN()}},
		TextsByName:  map[string]string{"k": notUTF8},
		FloatsByName: map[string]float64{"k": math.NaN()},
		IntsByName:   map[string]int{notUTF8: 1},
		ColorsByName: map[string]features.Color{"k": "pink"},
		Matrix:       [][]float64{{0}, {0, math.NaN()}},
		Cube:         [][][]float64{{}, {{}, {}, {math.NaN()}}},
		ListsByName:  map[string][]string{"k": {"ok", notUTF8}},
		Maps:         []map[string]int{{notUTF8: 1}},
		MapsByName:   map[string]map[string]runtime.Date{"outer": {"inner": {}}},
		Decimals:     []runtime.Decimal{"1", ".5"},
		LevelsByName: map[string]features.Level{"k": 0},
	})
	report("a problem far down a tree", features.OrderLineRemoved{
		Reason: features.Odd日本, Weekday: features.WeekdayFriday,
		Tree: features.Tree{Children: []features.Tree{{}, {Parent: &features.Tree{Label: notUTF8}}}},
	})
	report("an enum that is not set", features.PartitionByEnum{})
	report("what cannot be wrong", features.Ping{})

	enums()
	constraints()
	unions()
	customs()
	copies()
	cycles()
	samples()
	versions()

	var any features.AnyEvent = features.OrderLineAdded{}
	_, inOrder := any.(features.OrderEvent)
	_, inLine := any.(features.OrderLineEvent)

	fmt.Println("order.line.added is in order.*, order.line.*:", inOrder, inLine)

	fmt.Println("subscriptions:", features.OnOrderPlacedSendReceipt, features.OnOrderPlacedChargeCardV2, features.OnHostileTextRead)
	for _, s := range features.Catalogue.PatternSubscriptions() {
		for _, eventType := range features.Catalogue.Types() {
			if name := eventType.Name(); s.Covers(eventType) && (name == "order.line.added" || name == "shape.changed") {
				in := s.For(eventType)
				fmt.Printf("  %s for %v: %s: %d attempts, up to %v each, %d at once, %d rules for errors, redriven %d times\n",
					s.Name, s.Patterns, name, in.Retry.MaxAttempts, in.Timeout, in.Concurrency, len(in.Errors), in.Redrive.Max)
			}
		}
	}
	var _ func(*runtime.Bus, runtime.Handler[features.OrderLineEvent], ...runtime.SubscribeOption) (*runtime.Subscription, error) = features.SubscribeOrderLines
	var _ func(*runtime.Bus, runtime.Handler[features.AnyEvent], ...runtime.SubscribeOption) (*runtime.Subscription, error) = features.SubscribeShapes
	fmt.Println("error classes:", features.ErrorOutOfStock, features.ErrorCardDeclined, features.ErrorHTTP503)
	for _, eventType := range features.Catalogue.Types() {
		for _, s := range eventType.Subscriptions() {
			group := ""
			if s.Group != "" {
				group = fmt.Sprintf(", in group %s, formerly %v", s.Group, s.GroupAliases)
			}
			fmt.Printf("  %s of %s: %d attempts, up to %v each%s\n", s.Name, eventType.Name(), s.Settings.Retry.MaxAttempts, s.Settings.Timeout, group)
		}
	}
}

func versions() {
	fmt.Println("versions of shape.changed:", features.ShapeChangedType.Any().Version(), "under the names", features.ShapeChangedType.Any().Aliases())
	for version, payload := range []string{1: `{"x":1,"y":2}`, 2: `{"corner":{"x":1,"y":2},"label":""}`, 3: `{"corners":[]}`, 4: `{}`} {
		if version > 0 {
			fmt.Println("  version", version, "is read:", features.Catalogue.Check("geometry.changed", version, []byte(payload)))
		}
	}
	fmt.Println("  without an upcast:", features.Catalogue.Check("shape.moved", 1, []byte(`{"x":-1,"y":2}`)))
}

func everything() features.Everything {
	return features.Everything{
		AString: "text", ABool: true, AnInt: -1, AnInt32: math.MinInt32, AnInt64: math.MinInt64, AUint64: math.MaxUint64,
		AFloat64: 0.1, SomeBytes: []byte{0, 255}, ATime: time.Date(2024, 2, 29, 12, 0, 0, 1, time.UTC),
		ADate: runtime.Date{Year: 2024, Month: 2, Day: 29}, ADuration: runtime.Duration(90 * time.Minute),
		AUUID: uuid.MustParse("018f4f2e-0000-7000-8000-000000000001"), SomeJSON: json.RawMessage(`{"a":[1]}`),
		ADecimal: "-0.50", AnEnum: features.ColorDarkGreen, AnIntegerEnum: features.LevelHighest, AStruct: features.Point{X: 1, Y: 2},
	}
}

func present() features.Optional {
	e := everything()
	return features.Optional{
		AString: &e.AString, ABool: &e.ABool, AnInt: &e.AnInt, AnInt32: &e.AnInt32, AnInt64: &e.AnInt64, AUint64: &e.AUint64,
		AFloat64: &e.AFloat64, SomeBytes: []byte{}, ATime: &e.ATime, ADate: &e.ADate, ADuration: &e.ADuration, AUUID: &e.AUUID,
		SomeJSON: e.SomeJSON, ADecimal: &e.ADecimal, AnEnum: &e.AnEnum, AnIntegerEnum: &e.AnIntegerEnum, AStruct: &e.AStruct, AList: []string{}, AMap: map[string]features.Point{},
	}
}

func collections() features.Collections {
	day := runtime.Date{Year: 2024, Month: 2, Day: 29}
	return features.Collections{
		Strings: []string{"a"}, Floats: []float64{1}, Ints: []int{1}, Dates: []runtime.Date{day}, Blobs: [][]byte{{1}},
		Points: []features.Point{{X: 1}}, TextsByName: map[string]string{"k": "v"}, FloatsByName: map[string]float64{"k": 1},
		IntsByName: map[string]int{"k": 1}, ColorsByName: map[string]features.Color{"k": features.ColorRed},
		Matrix: [][]float64{{1}}, Cube: [][][]float64{{{1}}}, ListsByName: map[string][]string{"k": {"v"}},
		Maps: []map[string]int{{"k": 1}}, MapsByName: map[string]map[string]runtime.Date{"k": {"k": day}},
		Decimals: []runtime.Decimal{"1"}, LevelsByName: map[string]features.Level{"k": features.LevelLow},
	}
}

func roundTrip[T runtime.Payload](name string, value T) {
	report(name, value)
	text, err := json.Marshal(value)
	if err != nil {
		fmt.Println("  cannot encode:", err)
		return
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		fmt.Println("  cannot decode:", err)
		return
	}
	fmt.Println("  the same after JSON:", reflect.DeepEqual(value, back))
}

func report(name string, value runtime.Payload) {
	err := value.Validate()
	if err == nil {
		fmt.Println(name + ": valid")
		return
	}
	var invalid *runtime.ValidationError
	if !errors.As(err, &invalid) {
		fmt.Printf("%s: %T\n", name, err)
		return
	}
	var lines []string
	for _, problem := range invalid.Problems {
		lines = append(lines, problem.String())
	}
	slices.Sort(lines)
	fmt.Printf("%s:\n  %s\n", name, strings.Join(lines, "\n  "))
}
