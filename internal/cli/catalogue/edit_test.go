package catalogue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
)

const untidy = `package: shop
version: 1
events:
    order.placed:
        payload: {order_id: uuid}
        doc: A customer ordered.
`

const tidied = `version: 1
package: shop
events:
  order.placed:
    doc: A customer ordered.
    payload: { order_id: uuid }
`

func TestFmtPrintsAndLeavesTheFileAlone(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": untidy})
	before := clitest.Snapshot(t)
	busgen(t, "fmt").Wants(t, 0, tidied, "")
	busgen(t, "fmt --check").Wants(t, cli.StatusNo, "events.yaml\n", "busgen: events.yaml is not in its canonical form: run \"busgen fmt --write events.yaml\"\n")
	if got := busgen(t, "fmt -d events.yaml"); got.Status != 0 || !strings.HasPrefix(got.Stdout, "--- events.yaml\n+++ events.yaml\n@@ -1,6 +1,6 @@\n-package: shop\n version: 1\n+package: shop\n") {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(before, clitest.Snapshot(t)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
}

func TestFmtWritesOnRequest(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": untidy})
	busgen(t, "fmt -w").Wants(t, 0, "", "")
	if got := read(t, "events.yaml"); got != tidied {
		t.Errorf("the file has %q", got)
	}
	clitest.Age(t)
	before := clitest.Snapshot(t)
	busgen(t, "fmt -w").Wants(t, 0, "", "")
	busgen(t, "fmt --check").Wants(t, 0, "", "")
	busgen(t, "fmt --diff").Wants(t, 0, "", "")
	if diff := cmp.Diff(before, clitest.Snapshot(t)); diff != "" {
		t.Errorf("the second time it was touched (-before +after):\n%s", diff)
	}
}

func TestFmtSaysWhatIsWrong(t *testing.T) {
	inFolder(t, map[string]string{"a.yaml": "a: ["})
	for command, want := range map[string]string{
		"fmt":               "there is no events.yaml in this folder",
		"fmt a.yaml":        "cannot format a.yaml: it is not YAML: ",
		"fmt nope.yaml":     "there is no catalogue at nope.yaml: name another file, or start one with \"busgen init\"\n",
		"fmt a.yaml -w -d":  "[diff write]",
		"fmt a.yaml b.yaml": "busgen fmt takes one catalogue, not 2",
	} {
		busgen(t, command).WantsErrors(t, cli.StatusTrouble, want)
	}
}

func TestRenameChangesTheCatalogue(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described, "other/events.yaml": simple})
	busgen(t, "rename event order.placed order.accepted").Wants(t, 0, "events.yaml: order.placed is order.accepted now, in 2 places\n", "")
	got := busgen(t, "rename field order.accepted.order_id id")
	if got.Status != 0 || !strings.HasPrefix(got.Stdout, "events.yaml: order.accepted.order_id is id now, in 5 places\nStored events are read by its old name in JSON too, ") {
		t.Errorf("%+v", got)
	}
	want := strings.NewReplacer("order.placed:\n    doc: A customer placed an order.\n", "order.accepted:\n    doc: A customer placed an order.\n    aliases: [order.placed]\n",
		"partition_by: order_id", "partition_by: id", "dedupe_by: order_id", "dedupe_by: id", "await_by: order_id", "await_by: id", "      order_id: { type: uuid, doc: Identifies the order. }", "      id: { type: uuid, doc: Identifies the order., was: order_id }").Replace(described)
	if diff := cmp.Diff(want, read(t, "events.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = busgen(t, "rename field order.accepted.id identifier --keep-wire --diff")
	if !strings.Contains(got.Stdout, "+      identifier: { type: uuid, doc: Identifies the order., json: id, was: order_id }") {
		t.Errorf("%+v", got)
	}
	got = busgen(t, "rename event other/events.yaml order.placed order.sent --diff")
	if !strings.Contains(got.Stdout, "-  order.placed:\n+  order.sent:\n") || read(t, "other/events.yaml") != simple {
		t.Errorf("%+v", got)
	}
}

func TestRenameChangesWhatTheCatalogueIncludes(t *testing.T) {
	inFolder(t, map[string]string{
		"shop/events.yaml":     "version: 1\npackage: shop\ninclude: [more/types.yaml]\nevents: { order.placed: { payload: { total: Money } } }\n",
		"shop/more/types.yaml": "version: 1\ntypes: { Money: { fields: { amount: int } } } # in cents\n",
	})
	got := busgen(t, "rename type shop/events.yaml Money Amount --diff")
	if !strings.Contains(got.Stdout, "+++ shop/events.yaml\n") || !strings.Contains(got.Stdout, "+++ shop/more/types.yaml\n") {
		t.Errorf("%+v", got)
	}
	busgen(t, "rename type shop/events.yaml Money Amount").Wants(t, 0, "shop/events.yaml, shop/more/types.yaml: Money is Amount now, in 2 places\n", "")
	if got, want := read(t, "shop/more/types.yaml"), "version: 1\ntypes: { Amount: { fields: { amount: int } } } # in cents\n"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestRenameReachesGroupsAndLimits(t *testing.T) {
	const before = `version: 1
package: shop
limits: { bank: { at_once: 4 } }
events:
  order.placed:
    limits: [bank]
    subscriptions: { left: { group: pair }, right: { group: pair } }
`
	inFolder(t, map[string]string{"events.yaml": before})
	busgen(t, "rename group pair twins").Wants(t, 0, "events.yaml: pair is twins now, in 3 places\n", "")
	busgen(t, "rename limit bank bank-api").Wants(t, 0, "events.yaml: bank is bank-api now, in 2 places\n", "")
	want := strings.NewReplacer("bank", "bank-api", "pair", "twins").Replace(before) + "\ngroups:\n  twins: { aliases: [pair] }\n"
	if diff := cmp.Diff(want, read(t, "events.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for word, want := range map[string]string{"rename group ": "twins\n", "rename limit ": "bank-api\n"} {
		if got := typed(t, "busgen __complete "+word+`""`, ""); !strings.HasPrefix(got.Stdout, want) {
			t.Errorf("completion of %q: %+v", word, got)
		}
	}
}

func TestNewEventAddsToTheCatalogue(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	got := typed(t, `busgen new event order.paid --doc "Money came." --field order_id:uuid --field "note:string?:Why: perhaps." --partition-by order_id --subscription ship`, "")
	got.Wants(t, 0, "events.yaml: added order.paid\n", "")
	added := `  order.paid:
    doc: Money came.
    partition_by: order_id
    payload:
      order_id: uuid
      note:
        type: string?
        doc: 'Why: perhaps.'
    subscriptions:
      ship: {}
`
	want := strings.Replace(described, "  user.left", added+"  user.left", 1)
	if diff := cmp.Diff(want, read(t, "events.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVerbsThatEditSayWhatIsWrongAndChangeNothing(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described, "broken.yaml": broken})
	before := clitest.Snapshot(t)
	for command, want := range map[string]struct {
		status int
		text   string
	}{
		"rename event order.placd order.paid":   {cli.StatusNotFound, "events.yaml: there is no event order.placd: did you mean order.placed?"},
		"rename event order.placed user.left":   {cli.StatusNo, `the catalogue would be wrong: key "user.left" is already in events; nothing was changed`},
		"rename event order.placed Nope":        {cli.StatusTrouble, "events.yaml: Nope cannot be the name of an event"},
		"rename event order.placed":             {cli.StatusTrouble, "takes the old name and the new one"},
		"rename event broken.yaml a.b c.d":      {cli.StatusNo, "2 errors in broken.yaml"},
		"rename field order.placed.nte remark":  {cli.StatusNotFound, "events.yaml: there is no field nte in order.placed: did you mean note?"},
		"rename field note remark":              {cli.StatusNotFound, "there is no event or type with fields note"},
		"rename type Money Amount":              {cli.StatusNotFound, "events.yaml: there is no type Money"},
		"rename subscription audt control":      {cli.StatusNotFound, "events.yaml: there is no declared subscription audt: did you mean audit?"},
		"rename subscription audit charge-card": {cli.StatusNo, "is already in subscriptions of event order.placed"},
		"rename value Currency a":               {cli.StatusTrouble, "Currency is no value: name its enum too, as in Currency.Currency"},
		"rename value Currency.a b":             {cli.StatusNotFound, "there is no enum Currency"},
		"rename limit bank money":               {cli.StatusNotFound, "events.yaml: there is no limit bank"},
		"rename group audt control":             {cli.StatusNotFound, "events.yaml: there is no group audt"},
		"rename policy a b":                     {cli.StatusTrouble, `busgen rename has no verb "policy"`},
		"new event order.placed":                {cli.StatusTrouble, "events.yaml: there is an event order.placed already, in line 4"},
		"new event order.paid --field id":       {cli.StatusTrouble, "--field id: want name:type or name:type:doc"},
		"new event order.paid --field id:uid":   {cli.StatusNo, `unknown type "uid"`},
		"new event":                             {cli.StatusTrouble, "takes the name of one event"},
	} {
		busgen(t, command).WantsErrors(t, want.status, want.text)
	}
	if diff := cmp.Diff(before, clitest.Snapshot(t)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
}

func TestNewVersionKeepsThePayloadAndSaysWhatIsLeftToDo(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": "version: 1\npackage: events\nevents:\n  order.placed:\n    payload:\n      order_id: uuid\n"})
	busgen(t, "new version order.placed").Wants(t, 0, `events.yaml: the payload of order.placed can be changed
Change the payload, generate, and write beside the generated code:

// UpcastOrderPlacedV1 converts a stored payload of version 1.
func UpcastOrderPlacedV1(old OrderPlacedV1) (OrderPlaced, error) {
	return OrderPlaced{
		OrderID: old.OrderID,
	}, nil
}
`, "")
	again := busgen(t, "new version order.placed")
	if !strings.HasSuffix(again.Stdout, "\nUpcastOrderPlacedV1 returns OrderPlacedV2 from now on.\n") || !strings.Contains(read(t, "events.yaml"), "version: 3\n") {
		t.Errorf("%+v\n%s", again, read(t, "events.yaml"))
	}
	busgen(t, "new version order.paid").WantsErrors(t, 3, "there is no event order.paid")
}
