package step_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/step"
)

type OrderPlaced struct {
	Order    int    `json:"order"`
	Product  string `json:"product"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
	Email    string `json:"email"`
}

type OrderShipped struct {
	Order  int    `json:"order"`
	Charge string `json:"charge"`
}

type ParcelScanned struct {
	Order int    `json:"order"`
	Code  string `json:"code"`
}

func (ParcelScanned) Validate() error { return nil }
func (OrderPlaced) Validate() error   { return nil }
func (OrderShipped) Validate() error  { return nil }

var (
	OrderPlacedType   = runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.placed", Settings: declare.DefaultSettings()})
	ParcelScannedType = runtime.Define(runtime.Spec[ParcelScanned]{Name: "parcel.scanned", Settings: declare.DefaultSettings(), AwaitBy: []string{"order"}})
	OrderShippedType  = runtime.Define(runtime.Spec[OrderShipped]{Name: "order.shipped", Settings: declare.DefaultSettings()})
)

type Charge struct {
	ID       string `json:"id"`
	Declined bool   `json:"declined"`
}

// outside is the world outside, which notes what is done to it.
type outside struct {
	down int // how often it fails
	did  []string
}

var bank, mail outside

func (o *outside) Charge(_ context.Context, key string, cents int) (Charge, error) {
	if o.down--; o.down >= 0 {
		return Charge{}, errors.New("the bank is down")
	}
	o.did = append(o.did, key)
	return Charge{ID: "c-1"}, nil
}

func (o *outside) Send(_ context.Context, key, to string) error {
	o.did = append(o.did, to)
	return nil
}

// The handler of docs/steps.md.

func fulfil(ctx context.Context, e runtime.Event[OrderPlaced]) error {
	o := e.Payload
	_, err := step.Tx(ctx, "reserve", func(ctx context.Context, tx runtime.Tx) (struct{}, error) {
		_, err := tx.ExecContext(ctx, "UPDATE stock SET free = free - ? WHERE product = ?", o.Quantity, o.Product)
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	charge, err := step.Do(ctx, "charge", func(ctx context.Context) (Charge, error) {
		return bank.Charge(ctx, step.Key(ctx), o.Cents)
	})
	if err != nil {
		return err // the bank is down: tried again, and the stock stays reserved
	}
	if charge.Declined {
		return runtime.Discard("the card is declined")
	}
	if err := step.Sleep(ctx, "cooling-off", 14*24*time.Hour); err != nil {
		return err // also when it begins to sleep
	}
	if _, err := step.Tx(ctx, "ship", func(ctx context.Context, tx runtime.Tx) (struct{}, error) {
		_, err := runtime.Publish(ctx, tx, OrderShippedType, OrderShipped{Order: o.Order, Charge: charge.ID})
		return struct{}{}, err
	}); err != nil {
		return err
	}
	_, err = step.Do(ctx, "mail", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, mail.Send(ctx, step.Key(ctx), o.Email)
	})
	return err
}

// The bank is down twice, and the process ends while the handler sleeps.
func TestTheOrderOfThePageGoesOn(t *testing.T) {
	page, err := os.ReadFile("../../docs/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("order_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	if code == "" || !strings.Contains(string(source), "\n"+code) {
		t.Error("the handler of the page is not the one that is tested")
	}
	synctest.Test(t, func(t *testing.T) {
		bank, mail = outside{down: 2}, outside{}
		path := filepath.Join(t.TempDir(), "shop.db")
		began := time.Now()
		var shipped []OrderShipped
		for life := range 2 {
			bus, err := runtime.Open(t.Context(), path, runtime.NewCatalogue(OrderPlacedType, OrderShippedType))
			must(t, err)
			must(t, runtime.Transact(t.Context(), bus, func(tx runtime.Tx) error {
				if life > 0 {
					return nil
				}
				_, err := tx.ExecContext(t.Context(), "CREATE TABLE stock (product TEXT, free INTEGER); INSERT INTO stock VALUES ('tea', 10)")
				return err
			}))
			_, err = runtime.Subscribe(bus, OrderPlacedType, "fulfil", fulfil)
			must(t, err)
			_, err = runtime.Subscribe(bus, OrderShippedType, "track", func(_ context.Context, e runtime.Event[OrderShipped]) error {
				shipped = append(shipped, e.Payload)
				return nil
			})
			must(t, err)
			must(t, bus.Start(t.Context()))
			if life == 0 {
				_, err := runtime.Publish(t.Context(), bus, OrderPlacedType, OrderPlaced{Order: 7, Product: "tea", Quantity: 3, Email: "ada@example.com"})
				must(t, err)
				time.Sleep(time.Minute)
				if len(bank.did) != 1 || len(mail.did) != 0 {
					t.Errorf("before the sleep: charged %q, mailed %q", bank.did, mail.did)
				}
			} else {
				must(t, bus.WaitIdle(t.Context()))
				var free int
				must(t, runtime.DB(bus).QueryRowContext(t.Context(), "SELECT free FROM stock").Scan(&free))
				if free != 7 {
					t.Errorf("%d are free, want 7", free)
				}
			}
			must(t, bus.Shutdown(t.Context()))
			if life == 0 {
				time.Sleep(14*24*time.Hour - 2*time.Minute)
			}
		}
		if slept := time.Since(began); slept < 14*24*time.Hour {
			t.Errorf("it has shipped after %v", slept)
		}
		if len(bank.did) != 1 || !slices.Equal(mail.did, []string{"ada@example.com"}) || !slices.Equal(shipped, []OrderShipped{{7, "c-1"}}) {
			t.Errorf("charged %q, mailed %q, shipped %+v", bank.did, mail.did, shipped)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
