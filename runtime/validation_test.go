package runtime_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime"
)

func TestProblemsNameTheirPlaceAndComeTogether(t *testing.T) {
	var currency, price, order runtime.Problems
	currency.Nested("", runtime.NotInEnum("EURO", "EUR", "USD"))
	price.Nested("currency", runtime.NotInEnum("EURO", "EUR", "USD"))
	order.Text("note", "\xff")
	order.TextItem("tags", 2, "\xff")
	order.TextEntry("labels", "a b", "\xff")
	order.Key("labels", "\xff")
	order.Finite("weight", math.Inf(1))
	order.FiniteItem("weights", 1, math.NaN())
	order.FiniteEntry("rates", "x", math.Inf(-1))
	order.Item("lines", 3, price.Err())
	order.Entry("by_name", "n", price.Err())
	order.Nested("day", errors.New("is a Monday"))
	order.Nested("state", runtime.NotInEnum("", "open", "closed"))
	err := order.Err()
	want := strings.Join([]string{
		`note: is not valid UTF-8`,
		`tags[2]: is not valid UTF-8`,
		`labels["a b"]: is not valid UTF-8`,
		`labels["\xff"]: the key is not valid UTF-8`,
		`weight: +Inf is not a finite number`,
		`weights[1]: NaN is not a finite number`,
		`rates["x"]: -Inf is not a finite number`,
		`lines[3].currency: "EURO" is not one of EUR, USD`,
		`by_name["n"].currency: "EURO" is not one of EUR, USD`,
		`day: is a Monday`,
		`state: is not set; choose one of open, closed`,
	}, "; ")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%v", err, want)
	}
	var validation *runtime.ValidationError
	if !errors.As(err, &validation) || len(validation.Problems) != 11 || validation.Problems[7].Path != "lines[3].currency" {
		t.Errorf("the problems are %+v", validation)
	}
}

func TestAValidPayloadCostsNoAllocation(t *testing.T) {
	allocations := testing.AllocsPerRun(100, func() {
		var p runtime.Problems
		p.Text("note", "fine")
		p.Finite("weight", 1.5)
		p.Nested("price", nil)
		p.Item("lines", 1, nil)
		p.TextEntry("labels", "k", "v")
		if p.Err() != nil {
			t.Error("a valid payload has problems")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}

func TestADateTravelsAsItsDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := runtime.DateOf(time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"), 0).UTC())
		text, err := json.Marshal(day)
		if err != nil {
			t.Fatal(err)
		}
		var back runtime.Date
		if err := json.Unmarshal(text, &back); err != nil || back != day || string(text) != `"`+day.String()+`"` {
			t.Fatalf("%v became %s and then %v (%v)", day, text, back, err)
		}
	})
}

func TestADayThatDoesNotExistIsRefused(t *testing.T) {
	for _, day := range []runtime.Date{{}, {2023, 2, 29}, {2024, 13, 1}, {2024, 1, 0}, {10000, 1, 1}, {-1, 1, 1}} {
		if err := day.Validate(); err == nil {
			t.Errorf("%v is valid", day)
		}
		if _, err := json.Marshal(day); err == nil {
			t.Errorf("%v can be encoded", day)
		}
	}
	for _, text := range []string{`"2023-02-29"`, `"2023-2-1"`, `"2023-02-01T00:00:00Z"`, `""`, `5`} {
		var day runtime.Date
		if err := json.Unmarshal([]byte(text), &day); err == nil {
			t.Errorf("%s was read as %v", text, day)
		}
	}
}

func TestADurationTravelsWithItsUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runtime.Duration(rapid.Int64().Draw(t, "nanoseconds"))
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back runtime.Duration
		if err := json.Unmarshal(text, &back); err != nil || back != d || string(text) != `"`+time.Duration(d).String()+`"` {
			t.Fatalf("%v became %s and then %v (%v)", d, text, back, err)
		}
	})
	var d runtime.Duration
	if err := json.Unmarshal([]byte(`"90"`), &d); err == nil || !strings.Contains(err.Error(), "a number and a unit") {
		t.Errorf("a bare number: %v", err)
	}
}
