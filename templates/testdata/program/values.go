package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/templates/testdata/features"
	"github.com/busgen/busgen/templates/testdata/features/featurestest"
)

func enums() {
	fmt.Println("colors:", features.AllColor(), features.ColorRed.Valid(), features.Color("pink").Valid())
	fmt.Println("levels:", features.AllLevel(), features.Level(3), features.LevelLow.Valid(), features.Level(3).Valid())

	var color features.Color
	var level features.Level
	fmt.Println("texts:", color.UnmarshalText([]byte("dark-green")), color, level.UnmarshalText([]byte("high")), int(level))
	fmt.Println("no values:", color.UnmarshalText([]byte("pink")), "/", level.UnmarshalText([]byte("5")))
	text, err := json.Marshal(map[string]any{"color": features.ColorRed, "level": features.LevelNormal, "other": features.Level(3)})
	fmt.Println("in JSON:", string(text), err)
	fmt.Println("of another version:", json.Unmarshal([]byte(`"pink"`), &color), color, json.Unmarshal([]byte(`3`), &level), level)
	fmt.Println("of another kind:", json.Unmarshal([]byte(`3`), &color), "/", json.Unmarshal([]byte(`"low"`), &level))
	_, err = features.Level(3).MarshalText()
	fmt.Println("a text of no value:", err)
}

func constraints() {
	narrow := featurestest.SampleOrderLimited().Constrained
	report("within all constraints", narrow)
	report("below all constraints", features.Narrow{
		Int: 0, Int32: -6, Float64: 0.1, Decimal: "0.009", Duration: runtime.Duration(time.Millisecond), Text: "ä", Email: "ada",
		OptionalList: []features.Weekday{}, OptionalNumber: new(int),
	})
	long := "eight of"
	report("above all constraints", features.Narrow{
		Int: 11, Float64: 1e22, Decimal: "1000.01", Duration: runtime.Duration(401 * 24 * time.Hour), Text: "äöüßé", Bytes: []byte("four"),
		GTIN: "1234567x", Word: "two words", Email: "Ada <ada@example.org>",
		List: []string{"a", "b", "a"}, Map: map[string]int{"a": 1, "b": 2, "c": 3}, OptionalText: &long,
		OptionalList: []features.Weekday{features.WeekdayMonday, features.WeekdayMonday},
	})

	var none features.Defaults
	fmt.Println("defaults:", none.AStringOrDefault(), none.ABoolOrDefault(), none.AnIntOrDefault(), none.AUint64OrDefault(), none.AFloat64OrDefault(),
		none.ADecimalOrDefault(), none.ADateOrDefault(), none.ADurationOrDefault(), none.AUUIDOrDefault(), none.AColorOrDefault(), none.ALevelOrDefault())
	three := 3
	fmt.Println("no default:", features.Defaults{AnInt: &three}.AnIntOrDefault())
}

func describe(p features.Payment) string {
	return features.VisitPayment(p,
		func(c features.Card) string { return "card " + c.LastFour },
		func(i features.Invoice) string { return "invoice due on " + i.DueOn.String() },
		func(features.PaymentInCash) string { return "cash" },
	)
}

func unions() {
	paid := featurestest.SampleOrderSettled()
	roundTrip("a union", paid)
	text, err := json.Marshal(paid)
	fmt.Println(" ", string(text), err)
	for _, p := range append(paid.More, paid.Payment) {
		fmt.Println(" ", describe(p))
	}
	paid.Second = features.Card{LastFour: "\xff"}
	paid.Payment, paid.More[0], paid.ByName["a"][0] = nil, &features.Card{}, features.Invoice{}
	report("bad variants", paid)
	for _, text := range []string{`{"payment":{"kind":"cheque"}}`, `{"payment":{"last_four":"4242"}}`, `{"payment":7}`, `{"payment":null}`, `{"payment":{"kind":"card","last_four":1}}`} {
		var p features.OrderSettled
		fmt.Println("  from", text, json.Unmarshal([]byte(text), &p), p.Payment)
	}
	defer func() { fmt.Println("  visiting nothing:", recover()) }()
	describe(nil)
}

func customs() {
	seen := featurestest.SampleHostSeen()
	roundTrip("a custom type", seen)
	text, err := json.Marshal(seen)
	fmt.Println(" ", string(text), err)
	copied := runtime.Clone(seen)
	copied.Others[0] = netip.MustParseAddr("::2")
	fmt.Println("  equal to a copy:", runtime.Equal(seen, runtime.Clone(seen)), "- to a changed one:", runtime.Equal(seen, copied))
}

func copies() {
	full := features.OrderLineAdded{Everything: everything(), Optional: present(), Collections: collections()}
	copied := runtime.Clone(full)
	fmt.Println("a copy is equal:", runtime.Equal(full, copied))
	*copied.Optional.AString = "changed"
	copied.Everything.SomeBytes[0] = 7
	copied.Everything.SomeJSON[0] = ' '
	copied.Collections.Cube[0][0][0] = 7
	copied.Collections.MapsByName["k"]["k"] = runtime.Date{}
	copied.Optional.AMap["new"] = features.Point{}
	fmt.Println("and shares nothing:", *full.Optional.AString, full.Everything.SomeBytes[0], string(full.Everything.SomeJSON),
		full.Collections.Cube[0][0][0], full.Collections.MapsByName["k"]["k"], len(full.Optional.AMap))
	fmt.Println("changed, it is equal:", runtime.Equal(full, copied))

	here := features.Everything{ATime: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)}
	there := features.Everything{ATime: here.ATime.In(time.FixedZone("", 3600)), SomeBytes: []byte{}}
	fmt.Println("the same moment elsewhere:", runtime.Equal(here, there))

	tree := features.Tree{Children: []features.Tree{{Label: "a", Parent: &features.Tree{}}}, ByName: map[string]features.Tree{"b": {}}}
	other := runtime.Clone(tree)
	fmt.Println("trees:", runtime.Equal(tree, other))
	other.Children[0].Parent.Label = "x"
	fmt.Println("changed below:", runtime.Equal(tree, other), tree.Children[0].Parent.Label == "")

	paid := featurestest.SampleOrderSettled()
	again := runtime.Clone(paid)
	again.ByName["a"][0] = features.Card{Tags: []string{"x"}}
	third := runtime.Clone(again)
	fmt.Println("unions:", runtime.Equal(paid, runtime.Clone(paid)), runtime.Equal(paid, again), runtime.Equal(again, third))
	third.ByName["a"][0].(features.Card).Tags[0] = "y"
	fmt.Println("changed inside:", runtime.Equal(again, third))
}

// cycles are values that Go allows and that go on for ever.
func cycles() {
	tree := features.Tree{Label: "a", Children: make([]features.Tree, 2)}
	tree.Children[0], tree.Children[1] = tree, tree
	sum := features.ExpressionProduct{Factors: make([]features.Expression, 2)}
	sum.Factors[0], sum.Factors[1] = sum, features.Sum{Left: sum, Right: sum}
	for _, value := range []runtime.Payload{tree, sum, features.OrderComputed{Expression: sum}} {
		text := value.Validate().Error()
		fmt.Println("a cycle:", strings.Count(text, ";")+1, "problem,", text[strings.LastIndex(text, ":")+2:])
	}
	for _, endless := range []func(){func() { runtime.Clone(tree) }, func() { runtime.Equal(tree, tree) }, func() { runtime.Clone(sum) }, func() { runtime.Equal(sum, sum) }} {
		func() {
			defer func() { fmt.Println("a panic:", recover() != nil) }()
			endless()
		}()
	}
}

func samples() {
	ok := true
	for _, one := range []runtime.Payload{
		featurestest.SamplePing(), featurestest.SampleOrderPlaced(), featurestest.SampleOrderLineAdded(), featurestest.SampleOrderLineRemoved(),
		featurestest.SampleOrderSettled(), featurestest.SampleOrderComputed(), featurestest.SampleOrderLimited(), featurestest.SampleHostSeen(), featurestest.SampleHostileText(),
	} {
		if err := one.Validate(); err != nil {
			fmt.Printf("the sample %T is not valid: %v\n", one, err)
			ok = false
		}
	}
	fmt.Println("all samples are valid:", ok)
}
