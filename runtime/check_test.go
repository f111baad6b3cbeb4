package runtime_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

const validOrder = `{"order_id":"018f3c5e-0000-7000-8000-000000000001","number":7,` +
	`"customer":{"name":"Ada","email":"ada@example.org"},` +
	`"ship_to":{"street":"1 Way","postcode":"1","city":"X","country":"DE"},` +
	`"lines":[{"article":"a","quantity":1,"unit_price":{"amount":1,"currency":"EUR"}},` +
	`{"article":"b","quantity":2,"unit_price":{"amount":2,"currency":"EUR"}}],` +
	`"total":{"amount":5,"currency":"EUR"},"method":"card"}`

func TestACheckedPayloadIsExactlyWhatTheCatalogueSays(t *testing.T) {
	placed := events.OrderPlacedType.Name()
	if err := events.Catalogue.Check(placed, 1, []byte(validOrder)); err != nil {
		t.Fatalf("a valid order: %v", err)
	}
	replace := func(old, new string) string {
		if strings.Count(validOrder, old) != 1 {
			t.Fatalf("%s is not in the order once", old)
		}
		return strings.Replace(validOrder, old, new, 1)
	}
	for name, test := range map[string]struct {
		payload string
		want    []string // path: beginning of the message
	}{
		"an optional field":         {replace(`,"method"`, `,"gift":null,"method"`), nil},
		"spaces and order":          {strings.Replace(replace(`"number":7,`, ``), "{", "{ \"number\" : 7,\n", 1), nil},
		"a missing field":           {replace(`"number":7,`, ``), []string{"number: is missing"}},
		"a missing object":          {replace(`"total":{"amount":5,"currency":"EUR"},`, ``), []string{"total: is missing"}},
		"a missing nested field":    {replace(`"article":"b",`, ``), []string{"lines[1].article: is missing"}},
		"a null":                    {replace(`"number":7`, `"number":null`), []string{"number: is null"}},
		"a null in a list":          {replace(`"lines":[`, `"lines":[null,`), []string{"lines[0]: is null"}},
		"an unknown field":          {replace(`"number":7`, `"number":7,"numbre":8`), []string{"numbre: is not a field"}},
		"an unknown nested field":   {replace(`"amount":2`, `"amount":2,"tax":1`), []string{"lines[1].unit_price.tax: is not a field"}},
		"an unknown null":           {replace(`"number":7`, `"number":7,"numbre":null`), []string{"numbre: is not a field of this event"}},
		"another case":              {replace(`"number"`, `"Number"`), []string{"number: is missing", "Number: is not a field"}},
		"a wrong type":              {replace(`"number":7`, `"number":"7"`), []string{"number: is a JSON string, which does not fit int64"}},
		"too large a number":        {replace(`"number":7`, `"number":1e30`), []string{"number: is a JSON number 1e30, which does not fit int64"}},
		"no identifier":             {replace(`000000000001"`, `1"`), []string{"order_id: is not valid: invalid UUID"}},
		"a key twice":               {replace(`"number":7`, `"number":8,"number":7`), []string{"number: is there twice"}},
		"a nested key twice":        {replace(`"article":"b"`, `"article":"c","article":"b"`), []string{"lines[1].article: is there twice"}},
		"a key twice in a map":      {replace(`"article":"b"`, `"options":{"a":"x","a":"x"},"article":"b"`), []string{"lines[1].options.a: is there twice"}},
		"invalid UTF-8":             {replace(`"Ada"`, "\"A\xffa\""), []string{"customer.name: is not valid UTF-8"}},
		"half a character":          {replace(`"Ada"`, `"A\ud800a"`), []string{"customer.name: is not valid UTF-8"}},
		"several wrong values":      {strings.Replace(replace(`"quantity":2`, `"quantity":"2"`), `"amount":1`, `"amount":1.5`, 1), []string{"lines[0].unit_price.amount: is a JSON number 1.5", "lines[1].quantity: is a JSON string"}},
		"an object for a value":     {replace(`"number":7`, `"number":{}`), []string{"number: is a JSON object"}},
		"a value for an object":     {replace(`"total":{"amount":5,"currency":"EUR"}`, `"total":5`), []string{"total: is a JSON number"}},
		"what Validate refuses":     {replace(`"method":"card"`, `"method":"gold"`), []string{`method: "gold" is not one of`}},
		"no object":                 {`[]`, []string{": is a JSON array"}},
		"null":                      {`null`, []string{": is null"}},
		"no JSON":                   {`{"number":7`, []string{": unexpected end of JSON input"}},
		"nothing":                   {``, []string{": unexpected end of JSON input"}},
		"something after the event": {validOrder + `{}`, []string{": invalid character '{' after top-level value"}},
	} {
		err := events.Catalogue.Check(placed, 1, []byte(test.payload))
		if test.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		invalid, ok := errors.AsType[*runtime.InvalidPayloadError](err)
		if !ok || invalid.EventType != placed {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := []string{": " + invalid.Err.Error()}
		if problems, ok := errors.AsType[*runtime.ValidationError](err); ok {
			got = nil
			for _, p := range problems.Problems {
				got = append(got, p.Path+": "+p.Message)
			}
		}
		if !slices.EqualFunc(got, test.want, func(got, want string) bool {
			return strings.HasPrefix(strings.TrimPrefix(got, ": "), strings.TrimPrefix(want, ": "))
		}) {
			t.Errorf("%s: the problems are %q, want %q", name, got, test.want)
		}
	}
}

func TestAPublishedPayloadPassesTheCheck(t *testing.T) {
	id := customer
	for eventType, payload := range map[string]any{
		"user.registered":   events.UserRegistered{UserID: id, Email: "ada@example.org", Preferences: map[string]string{"language": "de", "": "x"}},
		"ml.run.started":    events.MLRunStarted{RunID: id, Devices: []string{"cpu"}, Parameters: json.RawMessage(`{"a":[1,{"b":null}],"c":null}`)},
		"ml.run.finished":   events.MLRunFinished{RunID: id, Took: 5, Checksum: make([]byte, 32)},
		"ml.trial.finished": events.MLTrialFinished{RunID: id, Trial: 1, State: events.TrialStateCompleted, Losses: [][]float64{{1, 2}, nil}},
	} {
		encoded, err := json.Marshal(payload)
		conformance.Must(t, err)
		if err := events.Catalogue.Check(eventType, 1, encoded); err != nil {
			t.Errorf("%s: %v", encoded, err)
		}
	}
}

func TestRawJSONThatIsNotUTF8IsNotPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, err := events.Open(t.Context(), t.TempDir()+"/events.db")
		conformance.Must(t, err)
		defer bus.Shutdown(t.Context())
		run := events.MLRunStarted{RunID: customer, Model: "m", Devices: []string{"cpu"}, Parameters: json.RawMessage("{\"a\":[\"x\xff\"]}")}
		_, err = events.PublishMLRunStarted(t.Context(), bus, run)
		if want := "parameters.a[0]: is not valid UTF-8"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
		invalid, ok := errors.AsType[*runtime.InvalidPayloadError](err)
		if !ok || invalid.EventType != "ml.run.started" {
			t.Errorf("the error is %T", err)
		}
		run.Parameters = json.RawMessage(`{"a":["é"]}`)
		if _, err = events.PublishMLRunStarted(t.Context(), bus, run); err != nil {
			t.Error(err)
		}
	})
}

func TestATypeThatIsNotInTheCatalogueIsNotChecked(t *testing.T) {
	unknown, ok := errors.AsType[*runtime.UnknownTypeError](conformance.Catalogue.Check("order.gone", 1, []byte("{}")))
	if !ok || unknown.EventType != "order.gone" {
		t.Errorf("got %v", unknown)
	}
}
