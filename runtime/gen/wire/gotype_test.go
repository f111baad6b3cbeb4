package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/gen/wire"
	"github.com/busgen/busgen/templates/testdata/features"
)

// A named scalar of a UUID or a date has generated text methods, which do not make a payload with it slow.
func TestGeneratedMethodsAreUsedForNamedScalarsWithTexts(t *testing.T) {
	type handwritten struct{ features.Birthday }
	for name, got := range map[string]bool{
		"OrderID": wire.NewCodec[features.OrderID]().Generated(), "Birthday": wire.NewCodec[features.Birthday]().Generated(),
		"a struct of both": wire.NewCodec[features.OrderLineAdded]().Generated(), "not embedded": !wire.NewCodec[handwritten]().Generated(),
	} {
		if !got {
			t.Errorf("%s: false", name)
		}
	}
}

// shouted is a Go type of go_types.
type shouted struct{ text string }

func (l shouted) MarshalText() ([]byte, error) {
	if l.text == "" {
		return nil, errors.New("it has no text")
	}
	return []byte(strings.ToUpper(l.text)), nil
}

func (l *shouted) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		panic("called without a text")
	}
	l.text = strings.ToLower(string(text))
	return nil
}

// holder is a payload with one.
type holder struct {
	Of shouted `json:"of"`
}

func (h holder) WriteJSON(w *wire.Writer) {
	if w.BeginObject() {
		w.Key("of")
		wire.WriteGoType(w, h.Of)
		w.EndObject()
	}
}

func (h *holder) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	if r.Key("of") {
		wire.ReadGoType(r, &h.Of)
	}
	r.EndObject()
}

func TestGoTypesAreWrittenAndReadAsEncodingJSONDoes(t *testing.T) {
	for _, text := range []string{"a", "é", `a"b\`, "\u2028<"} {
		value := holder{Of: shouted{text}}
		want, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var w wire.Writer
		writeTo(&w, &value)
		got, ok := w.Finish()
		if !ok || string(got) != string(want) {
			t.Errorf("%s, %v; want %s", got, ok, want)
		}
		var back holder
		r := wire.NewReader(got)
		back.ReadJSON(r)
		if escaped := strings.Contains(string(got), `\`); r.Finish() == escaped || !escaped && back != value { // which encoding/json reads then
			t.Errorf("%s is read as %v", got, back)
		}
	}
	var w wire.Writer
	holder{}.WriteJSON(&w)
	if _, ok := w.Finish(); ok {
		t.Error("a value without a text is written")
	}
	for _, damaged := range []string{`{"of":5}`, `{"of":`, `{"of":"a`, `[]`, `{"of":null}`, `{"of" :"a"}`} {
		r := wire.NewReader([]byte(damaged))
		if new(holder).ReadJSON(r); r.Finish() {
			t.Errorf("%s is read", damaged)
		}
	}
	if got := wire.TextOf(shouted{"a"}) + wire.TextOf(shouted{}); got != "A(it has no text)" {
		t.Error(got)
	}
	if got := wire.GoTypeOf[shouted]("A"); got.text != "a" {
		t.Error(got)
	}
}

func TestADefaultThatTheGoTypeDoesNotTakePanics(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		if err == nil || !strings.Contains(err.Error(), `the default "x" in the catalogue, which features.Birthday does not take: date "x"`) {
			t.Error(err)
		}
	}()
	wire.GoTypeOf[features.Birthday]("x")
}
