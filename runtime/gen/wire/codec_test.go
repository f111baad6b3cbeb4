package wire_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

// loud has the methods of a generated type, and tells when they were called.
type loud struct {
	Note string    `json:"note"`
	At   time.Time `json:"at,omitzero"` // with JSON methods that are no surprise
}

func (l loud) WriteJSON(w *wire.Writer) {
	w.String("written by the method")
	if l.Note == "give up" {
		w.Float64(math.NaN())
	}
}

func (l *loud) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	if r.Key("note") {
		l.Note = "read by the method: " + r.String()
	}
	r.EndObject()
}

func TestACodecUsesGeneratedMethods(t *testing.T) {
	codec := wire.NewCodec[loud]()
	encoded, err := codec.Encode(loud{})
	if string(encoded) != `"written by the method"` || err != nil {
		t.Errorf("encoded as %s, %v", encoded, err)
	}
	for range 2 {
		decoded, err := codec.Decode([]byte(`{"note":"x"}`))
		if decoded.Note != "read by the method: x" || err != nil {
			t.Errorf("decoded as %+v, %v", decoded, err)
		}
	}
}

func TestACodecUsesEncodingJSONWhenTheMethodsGiveUp(t *testing.T) {
	codec := wire.NewCodec[loud]()
	decoded, err := codec.Decode([]byte(`{ "note":"x" }`))
	if decoded.Note != "x" || err != nil {
		t.Errorf("decoded as %+v, %v", decoded, err)
	}
	encoded, err := codec.Encode(loud{Note: "give up"})
	if string(encoded) != `{"note":"give up"}` || err != nil {
		t.Errorf("encoded as %s, %v", encoded, err)
	}
	if encoded, err = codec.Encode(loud{}); string(encoded) != `"written by the method"` || err != nil {
		t.Errorf("the next is encoded as %s, %v", encoded, err)
	}
}

// What the methods read before they gave up must not show.
func TestACodecBeginsAnewAfterTheMethodsGaveUp(t *testing.T) {
	codec := wire.NewCodec[features.Optional]()
	decoded, err := codec.Decode([]byte(`{"a_string":"a","A_BOOL":true}`))
	if err != nil || decoded.AString == nil || *decoded.AString != "a" || decoded.ABool == nil {
		t.Errorf("decoded as %+v, %v", decoded, err)
	}
	decoded, err = codec.Decode([]byte(`{}`))
	if err != nil || !reflect.DeepEqual(decoded, features.Optional{}) {
		t.Errorf("the next is decoded as %+v, %v", decoded, err)
	}
}

type (
	handWritten struct {
		Note string `json:"note"`
	}
	embeds struct {
		loud
		More string `json:"more"`
	}
	holds struct {
		Money []*money `json:"money"`
	}
	money   struct{ cents int }
	strange struct {
		Mode mode `json:"mode"`
	}
	mode int
)

func (handWritten) WriteJSON(w *wire.Writer) { panic("half of the methods") }

func (holds) WriteJSON(*wire.Writer)             { panic("it holds a type with a form of its own") }
func (*holds) ReadJSON(*wire.Reader)             { panic("it holds a type with a form of its own") }
func (m money) MarshalText() ([]byte, error)     { return []byte(strings.Repeat("c", m.cents)), nil }
func (m *money) UnmarshalText(text []byte) error { m.cents = len(text); return nil }
func (strange) WriteJSON(*wire.Writer)           { panic("it holds a type that reads in a way of its own") }
func (*strange) ReadJSON(*wire.Reader)           { panic("it holds a type that reads in a way of its own") }
func (m *mode) UnmarshalJSON(text []byte) error {
	n, err := strconv.Atoi(strings.TrimPrefix(string(text), "-"))
	*m = mode(n)
	return err
}

// Whoever adds JSON methods to generated types, in a file of their own, means
// them to be used; encoding/json is who knows how.
func TestACodecUsesEncodingJSONForTypesWithHandwrittenMethods(t *testing.T) {
	requireAsEncodingJSON(t, handWritten{"x"}, `{"note":"x"}`)
	requireAsEncodingJSON(t, embeds{loud{Note: "x"}, "y"}, `{"note":"x","more":"y"}`)
	requireAsEncodingJSON(t, holds{[]*money{{3}}}, `{"money":["ccc"]}`)
	requireAsEncodingJSON(t, strange{123}, `{"mode":123}`)
	requireAsEncodingJSON(t, struct{ A, B int }{1, 2}, `{"A":1,"B":2}`)
}

// mapped holds values whose methods encoding/json does not call, because they are in a map
// and the methods are those of a pointer.
type mapped struct {
	Money map[string]odd `json:"money"`
}

type odd struct{ Cents int }

func (mapped) WriteJSON(*wire.Writer)          { panic("it holds a type with a form of its own") }
func (*mapped) ReadJSON(*wire.Reader)          { panic("it holds a type with a form of its own") }
func (o *odd) MarshalText() ([]byte, error)    { return []byte(strings.Repeat("c", o.Cents)), nil }
func (o *odd) UnmarshalText(text []byte) error { o.Cents = len(text); return nil }

// drifting is longer with each time that it is written.
type drifting struct {
	Text long `json:"text"`
}

type long string

func (drifting) WriteJSON(*wire.Writer)     { panic("it holds a type with a form of its own") }
func (*drifting) ReadJSON(*wire.Reader)     { panic("it holds a type with a form of its own") }
func (l long) MarshalText() ([]byte, error) { return []byte(l + "!"), nil }

func TestACodecRefusesValuesThatHandwrittenMethodsDoNotRestore(t *testing.T) {
	if got, err := wire.NewCodec[mapped]().Encode(mapped{map[string]odd{"a": {3}}}); err == nil || !strings.Contains(err.Error(), "cannot be read back") {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := wire.NewCodec[drifting]().Encode(drifting{"a"}); err == nil || !strings.Contains(err.Error(), `does not come back from its JSON {"text":"a!"}`) {
		t.Errorf("got %s, %v", got, err)
	}
}

func requireAsEncodingJSON[T any](t *testing.T, value T, text string) {
	t.Helper()
	codec := wire.NewCodec[T]()
	encoded, err := codec.Encode(value)
	if string(encoded) != text || err != nil {
		t.Errorf("%T is encoded as %s, %v, want %s", value, encoded, err, text)
	}
	var want T
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if got, err := codec.Decode([]byte(text)); !reflect.DeepEqual(got, want) || err != nil {
		t.Errorf("%T is decoded as %+v, %v, want %+v", value, got, err, want)
	}
}

// Short results share memory, so one after the other is changed and appended to.
func TestWhatCallersDoWithTheirResultsChangesNoOther(t *testing.T) {
	codec := wire.NewCodec[features.Tree]()
	label := func(i int) string { return strings.Repeat(strconv.Itoa(i%10), i%700) }
	var all [][]byte
	for i := range 1500 {
		encoded, err := codec.Encode(features.Tree{Label: label(i)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, encoded)
	}
	for i, encoded := range all {
		if want := `{"label":"` + label(i) + `","children":null}`; string(encoded) != want {
			t.Fatalf("result %d has become %s, want %s", i, encoded, want)
		}
		_ = append(encoded, "appended"...)
		clear(encoded)
	}
}

func TestTheCallerOwnsTheResultOfACodec(t *testing.T) {
	codec := wire.NewCodec[features.Tree]()
	first, err := codec.Encode(features.Tree{Label: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := codec.Encode(features.Tree{Label: "b"}); err != nil {
		t.Fatal(err)
	}
	if string(first) != `{"label":"a","children":null}` {
		t.Errorf("the first has become %s", first)
	}
}

func TestACodecServesManyGoroutines(t *testing.T) {
	codec := wire.NewCodec[features.Tree]()
	var wg sync.WaitGroup
	for label := range "abcd" {
		tree := features.Tree{Label: strings.Repeat("x", label), ByName: map[string]features.Tree{"k": {}}}
		wg.Go(func() {
			for range 200 {
				encoded, err := codec.Encode(tree)
				if err != nil {
					t.Error(err)
					return
				}
				if decoded, err := codec.Decode(encoded); err != nil || !reflect.DeepEqual(decoded, tree) {
					t.Errorf("%+v has become %+v, %v", tree, decoded, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// An enum has methods that encoding/json obeys. Those are generated, and no reason to leave the
// payload to it. Allocations tell who does the work.
func TestEnumsDoNotSlowAPayloadDown(t *testing.T) {
	plain, enums := wire.NewCodec[features.Point](), wire.NewCodec[features.PartitionByLevel]()
	allocations := func(encode func()) float64 {
		fewest := testing.AllocsPerRun(100, encode)
		for range 7 { // with the race detector, pools lose some of what they are given
			fewest = min(fewest, testing.AllocsPerRun(100, encode))
		}
		return fewest
	}
	without := allocations(func() { plain.Encode(features.Point{}) })
	with := allocations(func() { enums.Encode(features.PartitionByLevel{Key: features.LevelLow}) })
	text := wire.NewCodec[features.PartitionByEnum]()
	with = max(with, allocations(func() { text.Encode(features.PartitionByEnum{Key: features.ColorRed}) }))
	if with > without {
		t.Errorf("a payload with an enum takes %v allocations, one without %v", with, without)
	}
}

// loudness is an enum as generated, to which somebody has added a method.
type loudness string

func (loudness) Valid() bool                { return true }
func (v loudness) WriteJSON(w *wire.Writer) { w.String(string(v)) }
func (v *loudness) ReadJSON(r *wire.Reader) { *v = loudness(r.String()) }
func (v loudness) MarshalJSON() ([]byte, error) {
	return json.Marshal(strings.TrimSuffix(string(v), "!") + "!")
}

type shout struct {
	Loudness loudness `json:"loudness"`
}

func (s shout) WriteJSON(w *wire.Writer) {
	w.BeginObject()
	w.Key("loudness")
	s.Loudness.WriteJSON(w)
	w.EndObject()
}

func (s *shout) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	if r.Key("loudness") {
		s.Loudness.ReadJSON(r)
	}
	r.EndObject()
}

func TestAMethodThatIsAddedToAnEnumIsCalled(t *testing.T) {
	encoded, err := wire.NewCodec[shout]().Encode(shout{"a"})
	if string(encoded) != `{"loudness":"a!"}` || err != nil {
		t.Errorf("got %s, %v", encoded, err)
	}
}
