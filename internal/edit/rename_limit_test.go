package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

const named = `version: 1
package: shop
lint:
  unused-limit: { except: [bank, spare-one] }
  event-doc: { except: [bank] }

limits:
  bank: { at_once: 3 } # bank
  spare-one: { at_once: 1 }
  mail: { rate: 100 per 1m }

defaults: { limits: [bank] }

policies:
  order.*:
    limits:
      - mail
      - limit: "bank" # by customer
        by: bank

events:
  bank:
    limits: off
  order.placed:
    payload: { bank: string }
    limits: [mail, { limit: bank, by: bank }]
    subscriptions:
      bank: { limits: ['bank'] }
      other: {}
`

func TestALimitIsRenamedWhereverSettingsNameIt(t *testing.T) {
	want := strings.NewReplacer(
		"except: [bank, spare-one]", "except: [bank-api, spare-one]", "  bank: { at_once: 3 }", "  bank-api: { at_once: 3 }",
		"limits: [bank]", "limits: [bank-api]", `limit: "bank"`, `limit: "bank-api"`, "{ limit: bank, by", "{ limit: bank-api, by", "['bank']", "['bank-api']",
	).Replace(named)
	change, err := edit.RenameLimit(one(named), "bank", "bank-api")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(change.Files[0].Text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if change.Places != 6 {
		t.Errorf("%d places have changed, want 6", change.Places)
	}
}

func TestAnEventIsNotRenamedAmongExceptionsOfTheRuleAboutLimits(t *testing.T) {
	change, err := edit.RenameEvent(one(named), "bank", "money")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(change.Files[0].Text); !strings.Contains(got, "except: [bank, spare-one]") || !strings.Contains(got, "except: [money]") {
		t.Error(got)
	}
}

func TestALimitIsRenamedInAllFiles(t *testing.T) {
	c := several("version: 1\npackage: shop\ninclude: [payments.yaml]\nevents:\n  order.placed: { limits: [bank] }\n",
		"version: 1\nlimits:\n  bank: { at_once: 3 }\nevents:\n  payment.due: { subscriptions: { pay: { limits: [bank] } } }\n")
	change, err := edit.RenameLimit(c, "bank", "bank-api")
	if err != nil {
		t.Fatal(err)
	}
	if len(change.Files) != 2 || !strings.Contains(string(change.Files[0].Text), "limits: [bank-api]") ||
		!strings.Contains(string(change.Files[1].Text), "bank-api: { at") || !strings.Contains(string(change.Files[1].Text), "pay: { limits: [bank-api] }") {
		t.Errorf("changed: %q", change.Files)
	}
}

func TestALimitIsNotRenamedToWhatCannotBeOne(t *testing.T) {
	for to, want := range map[string]string{
		"mail":  "mail",
		"Bank":  "does not have a valid name",
		"ma-il": "", // another Go name
	} {
		_, err := edit.RenameLimit(one(named), "bank", to)
		if refused, ok := errors.AsType[*edit.RefusedError](err); want == "" && err != nil || want != "" && (!ok || !strings.Contains(refused.Error(), want)) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	_, err := edit.RenameLimit(one(named), "bnak", "bank-api")
	if missing, ok := errors.AsType[*edit.NotFoundError](err); !ok || !cmp.Equal(missing.Names, []string{"bank", "spare-one", "mail"}) {
		t.Errorf("one that does not exist: %#v", err)
	}
}
