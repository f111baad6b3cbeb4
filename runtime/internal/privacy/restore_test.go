package privacy

import "testing"

func TestHiddenValuesStayWhereTheyWereShown(t *testing.T) {
	const shown = `{"email":"` + Hidden + `","age":7,"home":{"street":"` + Hidden + `"},"cards":[{"n":"` + Hidden + `","of":"a"},{"n":"` + Hidden + `","of":"b"}]}`
	const stored = `{"email":"ada@example.org","age":7,"home":{"street":"Main"},"cards":[{"n":"1","of":"a"},{"n":"2","of":"b"}]}`
	const h = `"` + Hidden + `"`
	for typed, want := range map[string]string{
		shown:                                  stored,
		`{"age":8,"email":` + h + `}`:          `{"age":8,"email":"ada@example.org"}`,
		`{"email":"eve@example.org"}`:          `{"email":"eve@example.org"}`,
		`{"home":{"street":` + h + `,"no":1}}`: `{"home":{"street":"Main","no":1}}`,
		`{"age":` + h + `}`:                    "",
		`{"other":` + h + `}`:                  "",
		`{"email":"x` + Hidden + `"}`:          "",
		`{` + h + `:1}`:                        "",
		`{"home":` + h + `}`:                   "",
		`{"cards":[{"n":` + h + `,"of":"a"}]}`: `{"cards":[{"n":"1","of":"a"}]}`,
		`{"cards":[{"n":` + h + `,"of":"b"}]}`: "", // it would get the card of the other one
		`{"cards":[{"n":"3","of":"c"},{"n":` + h + `,"of":"b"}]}`: `{"cards":[{"n":"3","of":"c"},{"n":"2","of":"b"}]}`,
		h: "",
	} {
		got, ok := Restore([]byte(typed), []byte(shown), []byte(stored))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s, %t, want %s", typed, got, ok, want)
		}
	}
}
