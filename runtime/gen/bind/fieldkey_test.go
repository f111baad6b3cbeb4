package bind

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

type keyed1 struct {
	keyedPart
	Text   string
	Flag   bool
	N      int
	N32    int32
	Big    int64
	Size   uint64
	ID     uuid.UUID
	Level  keyLevel
	Name   keyName
	Order  keyID
	Deeper struct{ Part keyedPart }
	Lines  []string
}

type (
	keyedPart struct{ Code string }
	keyLevel  int
	keyName   string
	keyID     uuid.UUID
)

func TestKeysAreTexts(t *testing.T) {
	id := uuid.MustParse("018f4f2e-0000-7000-8000-000000000001")
	p := keyed1{keyedPart{"c"}, "a", true, -1, -2, -3, 4, id, 7, "n", keyID(id), struct{ Part keyedPart }{keyedPart{"d"}}, nil}
	for path, want := range map[string]string{
		"Text": "a", "Flag": "true", "N": "-1", "N32": "-2", "Big": "-3", "Size": "4", "ID": id.String(), "Level": "7", "Name": "n",
		"Order": id.String(), "Deeper.Part.Code": "d", "Code": "c",
	} {
		if got := keyOfField(reflect.TypeFor[keyed1](), path)(&p); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if keyOfField(reflect.TypeFor[keyed1](), "") != nil {
		t.Error("no field has a key")
	}
	for _, path := range []string{"Lines", "Deeper", "None", "Text.Code"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", path)
				}
			}()
			keyOfField(reflect.TypeFor[keyed1](), path)
		}()
	}
}

func TestAValueHasTheKeyOfItsField(t *testing.T) {
	id := uuid.MustParse("018f4f2e-0000-7000-8000-000000000001")
	for _, one := range []struct {
		value any
		want  string
	}{
		{"a", "a"}, {true, "true"}, {-1, "-1"}, {int32(-2), "-2"}, {int64(-3), "-3"}, {uint64(4), "4"}, {id, id.String()}, {keyLevel(7), "7"}, {keyName("n"), "n"}, {keyID(id), id.String()},
	} {
		if got := Key(one.value); got != one.want {
			t.Errorf("%T: %q, want %q", one.value, got, one.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a list is accepted")
		}
	}()
	Key([]string{"a"})
}

func TestReadingAKeyAllocatesNothingButItsText(t *testing.T) {
	key, p := keyOfField(reflect.TypeFor[keyed1](), "Text"), &keyed1{Text: "a"}
	if n := testing.AllocsPerRun(100, func() { key(p) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Go types that go_types of a catalogue can give to uuid.
type (
	textID   string
	structID struct{ id uuid.UUID }
	swapped  [16]byte
	namedID  structID
)

func (t textID) MarshalText() ([]byte, error)   { return []byte(strings.ToLower(string(t))), nil }
func (s structID) MarshalText() ([]byte, error) { return s.id.MarshalText() }
func (n namedID) MarshalText() ([]byte, error)  { return structID(n).MarshalText() }
func (s swapped) MarshalText() ([]byte, error) {
	if s == (swapped{}) {
		return nil, errors.New("it has no text")
	}
	slices.Reverse(s[:])
	return uuid.UUID(s).MarshalText()
}

func TestKeysOfGoTypesAreTheirTexts(t *testing.T) {
	type payload struct {
		Text   textID
		Struct structID
		Named  namedID
		Turned swapped
	}
	id := uuid.MustParse("018f4f2e-0000-7000-8000-00000000abcd")
	p := &payload{textID(strings.ToUpper(id.String())), structID{id}, namedID{id}, swapped(id)}
	slices.Reverse(p.Turned[:])
	for _, path := range []string{"Text", "Struct", "Named", "Turned"} {
		if got := keyOfField(reflect.TypeFor[payload](), path)(p); got != id.String() {
			t.Errorf("%s is %q", path, got)
		}
	}
	defer func() {
		if err, _ := recover().(error); err == nil || err.Error() != "the method MarshalText of bind.swapped: it has no text" {
			t.Error(err)
		}
	}()
	keyOfField(reflect.TypeFor[payload](), "Turned")(&payload{})
}
