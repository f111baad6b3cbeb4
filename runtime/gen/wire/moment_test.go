package wire_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/gen/wire"
)

func TestMomentsAreWrittenAsEncodingJSONDoes(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("zero", 0), time.FixedZone("", 3600), time.FixedZone("", -90*60), time.FixedZone("", 24*60*60)}
	for _, zone := range zones {
		for _, year := range []int{-1, 0, 1, 99, 1969, 1970, 2000, 2026, 9999, 10_000} {
			for _, nanoseconds := range []int{0, 1, 10, 999_999_999, 100_000_000, 120_000_000, 535_897_000, 1_000, 9_090_909} {
				requireMomentWritten(t, time.Date(year, 1, 1, 0, 0, 0, nanoseconds, zone))
				requireMomentWritten(t, time.Date(year, 12, 31, 23, 59, 59, nanoseconds, zone))
			}
		}
		for day := range 800 { // of a leap year and others
			requireMomentWritten(t, time.Date(2023, 6, 1+day, day%24, day%60, 59-day%60, 0, zone))
		}
	}
	requireMomentWritten(t, time.Time{})
	requireMomentWritten(t, time.Date(2026, 3, 14, 15, 9, 26, 0, time.Local))
}

// Offsets had seconds before the 1930s. RFC 3339 has no form for them: encoding/json writes another moment.
func TestAMomentWhoseOffsetHasSecondsIsWrittenInUTC(t *testing.T) {
	for _, seconds := range []int{1, -30, 59, 20*60 - 28, 18*60 + 30} {
		moment := time.Date(1900, 1, 1, 12, 0, 0, 5, time.FixedZone("", seconds))
		var w wire.Writer
		w.Time(moment)
		written, ok := w.Finish()
		var back time.Time
		if err := json.Unmarshal(written, &back); !ok || err != nil || !back.Equal(moment) {
			t.Errorf("%v is written as %s, %t, which is %v: %v", moment, written, ok, back, err)
		}
	}
}

func requireMomentWritten(t *testing.T, moment time.Time) {
	t.Helper()
	want, wantErr := json.Marshal(moment)
	var w wire.Writer
	w.Time(moment)
	if got, ok := w.Finish(); ok != (wantErr == nil) || ok && string(got) != string(want) {
		t.Fatalf("%v is written as %s, %v, want %s, %v", moment, got, ok, want, wantErr)
	}
}

func TestMomentsAreReadAsEncodingJSONDoes(t *testing.T) {
	for _, year := range []int{0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999} {
		for month := range 14 {
			for day := range 33 {
				requireMomentRead(t, fmt.Sprintf(`"%04d-%02d-%02dT15:09:26.5Z"`, year, month, day))
			}
		}
	}
	for n := range 100 {
		requireMomentRead(t, fmt.Sprintf(`"2026-03-14T%02d:09:26Z"`, n))
		requireMomentRead(t, fmt.Sprintf(`"2026-03-14T15:%02d:26Z"`, n))
		requireMomentRead(t, fmt.Sprintf(`"2026-03-14T15:09:%02dZ"`, n))
	}
	for _, end := range []string{".", ".Z", ".0Z", ".9Z", ".123456789Z", ".1234567890Z", ".000000000Z", ".99999999999999999999Z", ",5Z", ".5", ".5z", ".5 Z", ".-5Z",
		".5ZZ", "", "z", "Z0", "+00:00", "-00:00", "+01:30", ".5+01:30", "+24:00", "+23:60", "+1:30", "+0130"} {
		requireMomentRead(t, `"2026-03-14T15:09:26`+end+`"`)
	}
	const usual = `"2026-03-14T15:09:26.535897Z"`
	for at := range usual {
		requireMomentRead(t, usual[:at])
		for c := range 256 {
			requireMomentRead(t, usual[:at]+string([]byte{byte(c)})+usual[at+1:])
		}
	}
}

// requireMomentRead checks that a Reader accepts what encoding/json does, unless it needs an escape or another document.
func requireMomentRead(t *testing.T, data string) {
	t.Helper()
	var want time.Time
	wantErr := json.Unmarshal([]byte(data), &want)
	r := wire.NewReader([]byte(data))
	got := r.Time()
	if ok := r.Finish(); ok != (wantErr == nil) || ok && (!got.Equal(want) || got.Location() != want.Location() && got.String() != want.String()) {
		t.Fatalf("%q is read as %v, %v, want %v, %v", data, got, ok, want, wantErr)
	}
}
