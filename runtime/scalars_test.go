package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime"
)

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

func TestADecimalIsAText(t *testing.T) {
	d, err := runtime.ParseDecimal("-12.50")
	if err != nil || d.String() != "-12.50" || d.Compare("-12.5") != 0 || d.Compare("-12.49") != -1 || d.Compare("-100") != 1 {
		t.Errorf("got %s, %v", d, err)
	}
	for _, text := range []string{"", "1.", "1e3", "NaN", "01"} {
		if _, err := runtime.ParseDecimal(text); err == nil || !strings.Contains(err.Error(), "is not a decimal number") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
