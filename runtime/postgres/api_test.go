package postgres_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/apirecord"
)

var updateAPI = flag.Bool("api.update", false, "record the Go API as it is")

func TestTheGoAPIIsThatOfTheRecord(t *testing.T) {
	apirecord.Check(t, *updateAPI, "../../internal/apirecord/testdata/postgres", ".")
}

// Programs that do not use this module download and compile nothing of Postgres.
func TestTheRuntimeDependsOnNothingOfPostgres(t *testing.T) {
	for _, name := range []string{"../../go.mod", "../../go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "jackc/pgx") {
			t.Errorf("%s names pgx", name)
		}
	}
	command := exec.Command("go", "list", "-deps", "github.com/busgen/busgen/...")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "busgen/runtime\n") || strings.Contains(string(out), "jackc") || strings.Contains(string(out), "busgen/runtime/postgres") {
		t.Error("packages of Postgres are compiled with the root module")
	}
}
