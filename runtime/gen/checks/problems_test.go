package checks_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/gen/checks"
)

func TestProblemsNameTheirPlaceAndComeTogether(t *testing.T) {
	var currency, price, order checks.Problems
	currency.Nested("", checks.NotInEnum("EURO", "EUR", "USD"))
	price.Nested("currency", checks.NotInEnum("EURO", "EUR", "USD"))
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
	order.Nested("state", checks.NotInEnum("", "open", "closed"))
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
	var validation *checks.ValidationError
	if !errors.As(err, &validation) || len(validation.Problems) != 11 || validation.Problems[7].Path != "lines[3].currency" {
		t.Errorf("the problems are %+v", validation)
	}
}

func TestAValidPayloadCostsNoAllocation(t *testing.T) {
	allocations := testing.AllocsPerRun(100, func() {
		var p checks.Problems
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
