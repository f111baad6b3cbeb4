package privacy

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const schema = `{"event":"user.registered","version":3,"partition_by":"number","payload":{"number":"string",` +
	`"email":{"type":"string","sensitive":true,"personal":true,"was":["mail"]},"nick":{"type":"string?","personal":true},` +
	`"age":{"type":"int","personal":true},"plan":"Plan","note":"string","remark":"string?","home":"Address?",` +
	`"friends":{"type":"[]{}","fields":{"name":{"type":"string","personal":true},"since":"date"}},` +
	`"tags":"map[string]string","card":{"type":"Card","sensitive":true},"by":"Payment"},` +
	`"history":{"2":{"mail":{"type":"string","personal":true},"plan":"Plan"}},` +
	`"types":{"Plan":{"enum":["free","paid"]},"Address":{"fields":{"street":{"type":"string","personal":true},"country":"string"}},` +
	`"Card":{"fields":{"number":"string","valid":"bool"}},` +
	`"Payment":{"discriminator":"kind","one_of":{"card":{"type":"Card"},"bank":{"fields":{"iban":{"type":"string","sensitive":true,"personal":true},"fee":"int"}}}}}}`

const payload = `{"number":"c-17","email":"zeb@example.org","nick":"Zeb","age":41,"plan":"paid","note":"for Zebediah","remark":"ask Zebediah",` +
	`"home":{"street":"Elm 1","country":"NL"},"friends":[{"name":"Ann","since":"2020-01-02"}],"tags":{"a":"b"},` +
	`"card":{"number":"4711-0815","valid":true},"by":{"kind":"bank","iban":"NL12","fee":3}}`

func TestSensitiveFieldsAreHiddenWithAllThatIsInThem(t *testing.T) {
	got, veil := Read(schema).Hide(3, []byte(payload))
	want := strings.NewReplacer(`"zeb@example.org"`, `"[hidden]"`, `{"number":"4711-0815","valid":true}`, `"[hidden]"`, `"NL12"`, `"[hidden]"`).Replace(payload)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for text, want := range map[string]string{
		`no account for zeb@example.org`:             `no account for [hidden]`,
		`card "4711-0815" of 17 is not valid`:        `card "[hidden]" of 17 is not valid`,
		`{\"email\":\"zeb@example.org\",\"age\":41}`: `{\"email\":\"[hidden]\",\"age\":41}`,
	} {
		if got := veil.Text(text); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
	if got, _ := Read(schema).Hide(3, []byte(`{"mail":"zeb@example.org","plan":"free"}`)); string(got) != `{"mail":"[hidden]","plan":"free"}` {
		t.Errorf("by its former name it is shown: %s", got)
	}
}

func TestWhatDoesNotFitItsSchemaIsHidden(t *testing.T) {
	for in, want := range map[string]string{
		`not JSON`:                             `"[hidden]"`,
		`["zeb@example.org"]`:                  `"[hidden]"`,
		`{"by":{"kind":"cash","iban":"NL12"}}`: `{"by":"[hidden]"}`,
		`{"by":"NL12"}`:                        `{"by":"[hidden]"}`,
		`null`:                                 `null`,
		`{"email":null,"other":7}`:             `{"email":null,"other":"[hidden]"}`,
	} {
		if got, _ := Read(schema).Hide(3, []byte(in)); string(got) != want {
			t.Errorf("%s is shown as %s", in, got)
		}
	}
	for _, text := range []string{"{", `{"payload":{"a":"int128"}}`, `{"payload":{"a":7}}`} {
		if got, veil := Read(text).Hide(1, []byte(`{"a":"secret"}`)); string(got) != `"[hidden]"` || veil.Text("a secret") != "a [hidden]" {
			t.Errorf("with the schema %s it is shown as %s", text, got)
		}
	}
	if got, _ := Read("").Hide(1, []byte(`{"a":1}`)); string(got) != `{"a":1}` {
		t.Errorf("without a schema it is shown as %s", got)
	}
}

func TestARedactedPayloadKeepsWhatIsNotPersonal(t *testing.T) {
	p := Person{"c-17", "Zebediah"}
	got := string(Read(schema).Redact(3, []byte(payload), p, false))
	const want = `{"number":"[erased]","email":"[erased]","age":0,"plan":"paid","note":"[erased]",` +
		`"home":{"street":"[erased]","country":"NL"},"friends":[{"name":"[erased]","since":"2020-01-02"}],"tags":{"a":"b"},` +
		`"card":{"number":"4711-0815","valid":true},"by":{"kind":"bank","iban":"[erased]","fee":3}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	const whole = `{"number":"[erased]","email":"[erased]","age":0,"plan":"free","note":"[erased]","friends":[],"tags":{},` +
		`"card":{"number":"[erased]","valid":false},"by":{"kind":"bank","iban":"[erased]","fee":0}}`
	if got := string(Read(schema).Redact(3, []byte(payload), p, true)); got != whole {
		t.Errorf("got  %s\nwant %s", got, whole)
	}
	if got := string(Read(schema).Redact(2, []byte(`{"mail":"x","plan":"paid","gone":"y"}`), p, false)); got != `{"mail":"[erased]","plan":"paid"}` {
		t.Errorf("of version 2: %s", got)
	}
	for _, s := range []string{"", "{"} {
		if got := string(Read(s).Redact(3, []byte(payload), p, false)); got != "{}" {
			t.Errorf("without a schema: %s", got)
		}
	}
}

// Null means nothing, and every reader takes it.
func TestANullableFieldOfAPersonBecomesNull(t *testing.T) {
	const schema = `{"event":"a","version":1,"payload":{"mail":{"type":"string|null","personal":true},"home":{"type":"Address|null","personal":true},` +
		`"note":"string|null","tags":"[]string|null"},"types":{"Address":{"fields":{"street":"string","since":"date|null"}}}}`
	const payload = `{"mail":"zeb@example.org","home":{"street":"Elm 1","since":"2020-01-02"},"note":"for Zebediah","tags":["a"]}`
	for whole, want := range map[bool]string{
		false: `{"mail":null,"home":null,"note":null,"tags":["a"]}`,
		true:  `{"mail":null,"home":null,"note":null,"tags":null}`,
	} {
		if got := string(Read(schema).Redact(1, []byte(payload), Person{"c-17", "Zebediah"}, whole)); got != want {
			t.Errorf("whole %v: got %s, want %s", whole, got, want)
		}
	}
}

func TestAPayloadIsAboutThePersonItsKeyOrAPersonalFieldNames(t *testing.T) {
	s := Read(schema)
	for value, want := range map[string]bool{"c-17": true, "zeb@example.org": true, "41": true, "Elm 1": true, "Ann": true, "NL12": true,
		"NL": false, "4711-0815": false, "Zebediah": false, "paid": false, "c-1": false} {
		if got := s.Names(3, []byte(payload), Person{value}, ""); got != want {
			t.Errorf("about %s: %t", value, got)
		}
	}
	for path, want := range map[string]bool{"card.number": true, "number": false, "by.number": false} {
		if got := (*Shape)(nil).Names(3, []byte(payload), Person{"4711-0815"}, path); got != want {
			t.Errorf("by the field %s: %t", path, got)
		}
	}
	if !s.Names(3, []byte(payload), Person{"Ann"}, "friends.name") {
		t.Error("the items of a list are not asked")
	}
}

func TestAPersonIsErasedFromTextsAsAWord(t *testing.T) {
	p := Person{"42", `Zeb "Z" <z>`}
	for text, want := range map[string]string{
		"customer 42, order 421, 142": "customer [erased], order 421, 142",
		`{"by":"Zeb \"Z\" <z>"}`:      `{"by":"[erased]"}`,
		`Zeb "Z" <z>: 42`:             `[erased]: [erased]`,
		"nobody":                      "nobody",
	} {
		if got, changed := p.Erase(text); got != want || changed != (text != want) {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

func TestErasingEndsForAnyValue(t *testing.T) {
	if got, _ := (Person{"erased"}).Erase("erased, erased"); got != "[erased], [erased]" {
		t.Error(got)
	}
}

func TestNothingOfAValueIsLeftInAText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zäß"\\<>&\n]{4,8}`).Draw(t, "value")
		text := rapid.StringMatching(`[ -~]{0,9}`).Draw(t, "before") + " " + string(rapid.SampledFrom(forms(value)).Draw(t, "form")) + " x"
		v := &Veil{values: []string{value}}
		for _, form := range forms(value) {
			if got := v.Text(text); strings.Contains(strings.ReplaceAll(got, Hidden, "\x00"), form) {
				t.Fatalf("%q is left in %q", form, got)
			}
		}
	})
}

func TestANoticeWithoutWhatIsLeftOfItsMetadataIsJSON(t *testing.T) {
	nothing := func(json.RawMessage) json.RawMessage { return nil }
	notice := `{"type":"user.registered","version":3,"payload":"e30=","error":"no mailbox","metadata":{"asked-by":"Ada"},"failures":2}`
	got := string(Read(schema).RedactNotice([]byte(notice), Person{"Ada"}, false, nothing))
	if want := `{"type":"user.registered","version":3,"payload":"e30=","error":"[erased]","failures":2}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAPersonIsErasedAfterAnEscape(t *testing.T) {
	p := Person{"ada@example.org", `C:\ada`}
	for text, want := range map[string]string{
		`{"asked-by":"Ada \u003cada@example.org\u003e"}`:                             `{"asked-by":"Ada \u003c[erased]\u003e"}`,
		`"to:\nada@example.org"`:                                                     `"to:\n[erased]"`,
		`Get "https://x.example/?mail=ada%40example.org&of=%22ada%40example.org%22"`: `Get "https://x.example/?mail=[erased]&of=%22[erased]%22"`,
		"canada@example.org":                                                         "canada@example.org",
	} {
		if got, _ := p.Erase(text); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	for text, want := range map[string]string{
		`{"by":"Ada \u003cada@example.org\u003e","n":"1"}`: `{"by":"Ada <[erased]>","n":"1"}`,
		`{"dir":"C:\\ada","ada@example.org":"x"}`:          `{"dir":"[erased]","[erased]":"x"}`,
		`{"by":"Ann \u003cann@example.org\u003e"}`:         `{"by":"Ann \u003cann@example.org\u003e"}`,
	} {
		if got, changed := p.EraseValues(text); got != want || changed != (text != want) {
			t.Errorf("the metadata %s becomes %s", text, got)
		}
	}
	if got, _ := (Person{`C:\`}).EraseValues(`{"dir":"C:\\"}`); got != `{"dir":"[erased]"}` {
		t.Errorf("metadata with a backslash becomes %s", got)
	}
}

func TestFlagsCountForOldVersionsAndRemovedFields(t *testing.T) {
	s := Read(`{"event":"user.registered","version":3,"payload":{"mail":{"type":"string","sensitive":true,"personal":true,"was":["email"]},` +
		`"home":{"type":"{}?","fields":{"street":{"type":"string","sensitive":true,"personal":true}}},"by":"Payment"},` +
		`"history":{"1":{"email":"string","home":{"type":"{}","fields":{"street":"string","country":"string"}}}},` +
		`"types":{"Payment":{"discriminator":"kind","one_of":{"cash":{"fields":{"coins":"int"}}}}}}`)
	old := `{"email":"ada@example.org","home":{"street":"Elm 1","country":"NL"}}`
	if got, _ := s.Hide(1, []byte(old)); string(got) != `{"email":"[hidden]","home":{"street":"[hidden]","country":"NL"}}` {
		t.Errorf("version 1 is shown as %s", got)
	}
	for _, value := range []string{"ada@example.org", "Elm 1"} {
		if !s.Names(1, []byte(old), Person{value}, "") {
			t.Errorf("version 1 is not about %s", value)
		}
	}
	removed := `{"phone":"0123","by":{"kind":"cash","coins":3}}`
	if got, _ := s.Hide(2, []byte(removed)); string(got) != `{"phone":"[hidden]","by":{"kind":"cash","coins":3}}` {
		t.Errorf("version 2 is shown as %s", got)
	}
	if !s.Names(2, []byte(removed), Person{"0123"}, "") || s.Names(2, []byte(removed), Person{"cash"}, "") {
		t.Error("version 2 is not about its removed field, or is about its variant")
	}
}

func TestWhatIsAPartOfALongerNameIsSomebodyElses(t *testing.T) {
	p := Person{"ada@example.org", "4711", "ada"}
	for text, want := range map[string]string{
		"no mailbox for ada@example.org.":           "no mailbox for [erased].",
		"<ada@example.org>, bob.ada@example.org":    "<[erased]>, bob.ada@example.org",
		"ada@example.org.uk is no ada@example.org-": "ada@example.org.uk is no [erased]-",
		"?mail=bob.ada%40example.org":               "?mail=bob.ada%40example.org",
		"ada of ada@example.com or x+ada@b.c":       "[erased] of ada@example.com or x+ada@b.c",
		"lock customer-4711 of order_4711: busy":    "lock customer-[erased] of order_[erased]: busy",
		"4711@example.com, mail-4711@example.com":   "4711@example.com, mail-4711@example.com",
	} {
		if got, changed := p.Erase(text); got != want || changed != (got != text) {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	for key, want := range map[string]bool{
		"4711": true, "order 4711": true, "order:4711": true, "welcome:ada@example.org": true, "4711.": true, "-4711-": true,
		"order-4711 of ann@example.org": false, "4711_1": false, "order.4711": false, "x+ada@example.org": false, "47110": false,
	} {
		if got := p.IsKey(key); got != want {
			t.Errorf("%s is a key of the person: %t", key, got)
		}
		metadata := `{"key":"` + key + `"}`
		if _, got := p.EraseValues(metadata); got != want {
			t.Errorf("the metadata %s names the person: %t", metadata, got)
		}
	}
	for text, want := range map[string]bool{"order-4711": true, "bob.ada@example.org": true, "?mail=bob.ada%40example.org": true, "canada@example.org": false, "47110": false} {
		if got := p.IsPart(text); got != want {
			t.Errorf("%s has a value as a part: %t", text, got)
		}
	}
}

// What is erased of one text is copied once.
func TestManyMentionsInOneTextAreErased(t *testing.T) {
	const n = 300_000
	got, _ := (Person{"42"}).Erase(strings.Repeat("42,", n))
	if got != strings.Repeat(Erased+",", n) {
		t.Errorf("%d bytes are left", len(got))
	}
}

func TestATypeWithoutPersonalFieldsIsKnownByItsKeyOnly(t *testing.T) {
	orders := Read(`{"event":"order.placed","version":1,"partition_by":"number","payload":{"number":"int","note":"string"},"history":{},"types":{}}`)
	for value, want := range map[string]bool{"4711": true, "gold": false} {
		if got := orders.KeyOnly(1, []byte(`{"number":4711,"note":"gold"}`), Person{value}); got != want {
			t.Errorf("%s is a key only: %t", value, got)
		}
	}
	if Read(schema).KeyOnly(3, []byte(payload), Person{"c-17"}) {
		t.Error("a type with personal fields is known by its key only")
	}
}
