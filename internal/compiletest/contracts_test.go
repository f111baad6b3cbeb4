package compiletest

import (
	"path/filepath"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
)

// testdata/contract<n>/events has what busgen generated of events.yaml beside it when NewestContract was n. What it
// generates today does the same.
func TestCodeOfOlderContractsRunsOnThisRuntime(t *testing.T) {
	short.Visit(t, "it compiles programs")
	for contract, want := range map[string]string{
		"contract3": `the second one is a duplicate
order.placed: {OrderID:00000000-0000-0000-0000-000000000001 Total:{Amount:100 Currency:EUR} Notes:[fast]}, attempt 1 of 4
the answer is {Amount:4 Currency:USD}
charge-card: timeout 1m0s, 4 attempts, limits [{bank order_id}], errors 1, redrive 0
send-receipt: timeout 20s, 4 attempts, limits [{bank order_id}], errors 1, redrive 2
`,
		"contract7": `the payload is not a valid order.placed: paid: is not set; choose one of PaymentCard, PaymentCash; notes[1]: is the same as notes[0]; currencies[1]: is the same as currencies[0]; count: is 0; it must be at least 1; share: is 1; it must be at most 0.5; wait: is 2h0m0s; it must be at most 1h0m0s; price: is -1; it must be at least 0
without encoding/json: true
order.placed of version 1: {"order_id":"00000000-0000-0000-0000-000000000000","total":{"amount":7,"currency":"USD"},"terms":{"currency":"","others":null,"by_name":null},"paid":null,"level":0,"big":0,"notes":null,"currencies":null,"count":0,"share":0,"wait":"0s","price":""}
order.placed of version 2: {"order_id":"00000000-0000-0000-0000-000000000001","total":{"amount":100,"currency":"EUR"},"terms":{"currency":"USD","others":null,"by_name":null},"paid":{"type":"card","digits":"1","level":2},"level":1,"big":5,"notes":["a"],"currencies":null,"count":1,"share":0,"wait":"0s","price":"1"}
plain.sent: {"currency":"USD","level":2,"all":["EUR","USD"],"named":{"a":1},"terms":{"currency":"EUR","others":["EUR","USD"],"by_name":{"b":"USD"},"maybe":"EUR"}}, the same: true
the answer is {Amount:4 Currency:USD}
the answers are [{Subscription:quote Value:{Amount:4 Currency:USD}}]
the ways are events.PaymentCash and <nil>
`,
	} {
		program := func(t *testing.T, module module) {
			module.add("main.go", string(read(t, filepath.Join("testdata", contract, "main.go"))))
			module.run("vet", "./...")
			if diff := cmp.Diff(want, module.run("run", ".", filepath.Join(t.TempDir(), "shop.db"))); diff != "" {
				t.Error(diff)
			}
		}
		t.Run(contract, func(t *testing.T) {
			module := newModule(t)
			files, err := filepath.Glob(filepath.Join("testdata", contract, "events", "*.go"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				module.add("events/"+filepath.Base(file), string(read(t, file)))
			}
			program(t, module)
		})
		t.Run(contract+", and today", func(t *testing.T) {
			c, findings, err := parse.Load(filepath.Join("testdata", contract, "events.yaml"))
			if err != nil || findings != nil {
				t.Fatal(err, findings)
			}
			module := newModule(t)
			addPackage(t, module, "events", c)
			if contract == "contract7" {
				module.add("events/upcasts.go", string(read(t, "testdata/contract7/events/upcasts.go")))
			}
			program(t, module)
		})
	}
}
