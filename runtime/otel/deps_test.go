package busotel_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Programs that do not use this module download and compile nothing of OpenTelemetry.
func TestTheRuntimeDependsOnNothingOfOpenTelemetry(t *testing.T) {
	for _, name := range []string{"../../go.mod", "../../go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "opentelemetry") {
			t.Errorf("%s names OpenTelemetry", name)
		}
	}
	command := exec.Command("go", "list", "-deps", "github.com/busgen/busgen/...")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "busgen/runtime\n") || strings.Contains(string(out), "opentelemetry") || strings.Contains(string(out), "busgen/runtime/otel") {
		t.Error("packages of OpenTelemetry are compiled with the root module")
	}
}
