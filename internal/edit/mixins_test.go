package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

const mixed = `version: 1
package: p
limits: { tenant: { at_once: 3 } }
types:
  Tenant: { fields: { tenant: string } }
  Audit: { mixins: [Tenant], fields: { by: string } }
  Card: { fields: { inner: { mixins: [Audit], fields: { Audit: int } } } }
  Means: { one_of: { card: Card, cash: { mixins: [Tenant], fields: {} } } }
events:
  a.done:
    partition_by: tenant
    dedupe_by: by
    version: 2
    limits: [{ limit: tenant, by: tenant }]
    mixins: [Audit]
    payload: { mixins: "[]string" }
    examples:
      - { tenant: t, by: b, mixins: [Audit] }
    history: { 1: { mixins: ["Audit"], payload: { x: int } } }
  b.done: { mixins: [Tenant], partition_by: tenant, await_by: tenant }
  c.done: { partition_by: tenant, await_by: tenant, payload: { tenant: string } }
schedules:
  nightly: { event: b.done, every: 1h, payload: { tenant: t } }
`

func TestMixinsFollowARenamedType(t *testing.T) {
	source := one(replace(mixed, "{ Audit: int }", "{ audit: int }"))
	change, err := edit.RenameType(source, "Audit", "Trail")
	if err != nil {
		t.Fatal(err)
	}
	want := replace(string(source.Files[0].Text), "  Audit: {", "  Trail: {", "inner: { mixins: [Audit]", "inner: { mixins: [Trail]", "    mixins: [Audit]", "    mixins: [Trail]", `["Audit"]`, `["Trail"]`)
	if diff := cmp.Diff(want, string(change.Files[0].Text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFieldOfAMixinIsRenamedInEverythingThatHasIt(t *testing.T) {
	source := one(replace(mixed, "{ Audit: int }", "{ audit: int }"))
	change, err := edit.RenameField(source, "Tenant.tenant", "owner")
	if err != nil {
		t.Fatal(err)
	}
	want := replace(string(source.Files[0].Text), "fields: { tenant: string } }\n  Audit", "fields: { owner: { type: string, was: tenant } } }\n  Audit",
		"    partition_by: tenant", "    partition_by: owner", "by: tenant }]", "by: owner }]", "- { tenant:", "- { owner:",
		"[Tenant], partition_by: tenant, await_by: tenant", "[Tenant], partition_by: owner, await_by: owner", "payload: { tenant: t }", "payload: { owner: t }")
	if diff := cmp.Diff(want, string(change.Files[0].Text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFieldOfAMixinIsNotRenamedElsewhere(t *testing.T) {
	source := one(replace(mixed, "{ Audit: int }", "{ audit: int }"))
	for path, there := range map[string]string{"a.done.tenant": "Tenant.tenant", "Audit.tenant": "Tenant.tenant", "a.done.by": "Audit.by"} {
		_, err := edit.RenameField(source, path, "other")
		if in, ok := errors.AsType[*edit.MixedInError](err); !ok || in.Field != there {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestANewVersionKeepsTheMixins(t *testing.T) {
	const head = "version: 1\npackage: p\ntypes: { A: { fields: { a: int } } }\nevents:\n  a.done:\n"
	change, err := edit.AddVersion(one(head+"    # All have it.\n    mixins: [A]\n    payload:\n      b: int\n  b.done:\n    mixins:\n      - A\n"), "a.done")
	if err != nil {
		t.Fatal(err)
	}
	want := head + "    version: 2\n    # All have it.\n    mixins: [A]\n    payload:\n      b: int\n    history:\n      1:\n        mixins: [A]\n        payload:\n          b: int\n  b.done:\n    mixins:\n      - A\n"
	if diff := cmp.Diff(want, string(change.Files[0].Text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMixinsStandBesideFields(t *testing.T) {
	got, err := edit.Format([]byte("version: 1\npackage: p\ntypes:\n  A: { fields: {}, mixins: [B], doc: A. }\nevents:\n  a.done:\n    payload: { b: { fields: {}, mixins: [A], type: \"{}?\" } }\n    mixins: [A]\n    reserved: [c]\n"))
	want := "version: 1\npackage: p\ntypes:\n  A: { doc: A., mixins: [B], fields: {} }\nevents:\n  a.done:\n    reserved: [c]\n    mixins: [A]\n    payload: { b: { type: \"{}?\", mixins: [A], fields: {} } }\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// replace replaces pairs of texts, each of which must be there.
func replace(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic("there is no " + pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}
