package conformance

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

// Run runs the tests of a suite on an engine, each as a subtest of its name. The suite is
// an [Env], or another type whose tests are methods. The exceptions are tests that do not
// hold for the engine, by the reason why; they are skipped. With -short only each tenth test runs,
// and for a visitor a third of them.
func Run(t *testing.T, suite any, exceptions map[string][]string) {
	nth := 10
	if short.Visitor() {
		nth *= 3
	}
	names, reasons := Names(suite), map[string]string{}
	for reason, tests := range exceptions {
		for _, name := range tests {
			if !slices.Contains(names, name) || reasons[name] != "" {
				t.Errorf("the exception %s is no test of the suite, or there twice", name)
			}
			reasons[name] = reason
		}
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && i%nth != 0 && (name != modelTest || short.Visitor()) {
				t.Skip("with -short one of so many tests of the suite runs: ", nth)
			}
			if reason := reasons[name]; reason != "" {
				t.Skip(reason)
			}
			reflect.ValueOf(suite).MethodByName(name).Interface().(func(*testing.T))(t)
		})
	}
}

// modelTest runs with -short, too, but not for a visitor: it does a bit of everything, and fewer lives then.
const modelTest = "TestTheBusDoesWhatItsModelDoes"

// Names returns the names of the tests of a suite, sorted.
func Names(suite any) (names []string) {
	methods := reflect.TypeOf(suite)
	for i := range methods.NumMethod() {
		if name := methods.Method(i).Name; strings.HasPrefix(name, "Test") {
			names = append(names, name)
		}
	}
	return names
}
