package busotel_test

import (
	"flag"
	"testing"

	"github.com/busgen/busgen/internal/apirecord"
)

var updateAPI = flag.Bool("api.update", false, "record the Go API as it is")

func TestTheGoAPIIsThatOfTheRecord(t *testing.T) {
	apirecord.Check(t, *updateAPI, "../../internal/apirecord/testdata/otel", ".")
}
