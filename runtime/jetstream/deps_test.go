package jetstream_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Programs that keep their events in a file download and compile nothing of NATS.
func TestTheRuntimeDependsOnNothingOfNATS(t *testing.T) {
	content, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), "nats") {
		t.Error("go.mod of the runtime names NATS")
	}
	command := exec.Command("go", "list", "-deps", "github.com/busgen/busgen/runtime/...", "github.com/busgen/busgen/cmd/...")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "nats-io") || strings.Contains(string(out), "busgen/runtime/jetstream") {
		t.Errorf("packages of NATS are compiled with the runtime")
	}
}
