package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

type tenant struct{}

var errNoTenant = errors.New("the context has no tenant")

// Every event has the tenant of the request in which it was published.
func ExampleWithPublishMiddleware() {
	stamp := func(ctx context.Context, p *runtime.Publication) error {
		name, ok := ctx.Value(tenant{}).(string)
		if !ok {
			return errNoTenant
		}
		p.Metadata["tenant"] = name
		return nil
	}
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"),
		runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithPublishMiddleware(stamp))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	user := events.UserRegistered{UserID: customer, Email: "ada@example.org"}
	if _, err := events.PublishUserRegistered(context.WithValue(ctx, tenant{}, "acme"), bus, user); err != nil {
		fmt.Println(err)
		return
	}
	_, err = events.PublishUserRegistered(ctx, bus, user)
	fmt.Println(errors.Is(err, errNoTenant), err)

	for event, err := range runtime.Find(ctx, bus, events.UserRegisteredType, runtime.Query{}) {
		fmt.Println(event.Metadata, err)
	}
	// Output:
	// true this user.registered was refused by a publish middleware: the context has no tenant
	// map[tenant:acme] <nil>
}
