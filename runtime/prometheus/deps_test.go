package busprom_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Programs that do not use this module download and compile nothing of Prometheus.
func TestTheRuntimeDependsOnNothingOfPrometheus(t *testing.T) {
	for _, name := range []string{"../../go.mod", "../../go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "prometheus") {
			t.Errorf("%s names Prometheus", name)
		}
	}
	command := exec.Command("go", "list", "-deps", "github.com/busgen/busgen/...")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "busgen/runtime\n") || strings.Contains(string(out), "github.com/prometheus") || strings.Contains(string(out), "busgen/runtime/prometheus") {
		t.Error("packages of Prometheus are compiled with the root module")
	}
}
