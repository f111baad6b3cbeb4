package catalog_test

import (
	"cmp"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
)

func TestBoundsAreComparedExactly(t *testing.T) {
	const two53, behind = "9007199254740992", "9007199254740993" // no float64 is the second
	for _, one := range []struct {
		a    catalog.Kind
		text string
		b    catalog.Kind
		than string
		want int
	}{
		{catalog.Int64, behind, catalog.Int64, two53, 1},
		{catalog.Int64, behind, catalog.Float64, two53, 1},
		{catalog.Float64, two53, catalog.Int64, behind, -1},
		{catalog.Float64, behind, catalog.Float64, two53, 0}, // generated code compares with the same float64
		{catalog.Uint64, "18446744073709551615", catalog.Float64, "18446744073709551616", -1},
		{catalog.Decimal, "0.1", catalog.Float64, "0.1", -1}, // that float64 is a little more
		{catalog.Decimal, "0.5", catalog.Float64, "5e-1", 0},
		{catalog.Float64, "5e-324", catalog.Int, "0", 1},
		{catalog.Float64, "-0.0", catalog.Int, "0", 0},
		{catalog.Duration, "2501h59m59.254740993s", catalog.Duration, "2501h59m59.254740992s", 1},
		{catalog.Duration, "2501h59m59.254740993s", catalog.Int64, "9007199254740992", 1},
		{catalog.Duration, "-1s", catalog.Float64, "-1e9", 0},
	} {
		a, b := catalog.NewBound(one.a, one.text), catalog.NewBound(one.b, one.than)
		if got, reverse := a.Compare(b), b.Compare(a); got != one.want || reverse != -one.want {
			t.Errorf("%s to %s: %d, the other way round %d; want %d", one.text, one.than, got, reverse, one.want)
		}
	}
}

func TestBoundsOfFloatsAreComparedAsFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		if got := bound(a).Compare(bound(b)); got != cmp.Compare(a, b) {
			t.Errorf("%v to %v: %d", a, b, got)
		}
	})
}

func bound(value float64) catalog.Bound {
	return catalog.NewBound(catalog.Float64, strconv.FormatFloat(value, 'g', -1, 64))
}
