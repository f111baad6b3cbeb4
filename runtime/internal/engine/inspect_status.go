package engine

import (
	"github.com/busgen/busgen/runtime/event"
)

// Declared is what programs have declared, as far as a log keeps it.
type Declared struct {
	event.Names
	Schedules []event.Schedule // of the process that has dispatched last, by name
}

// RuleIntegrity is the rule of a [event.Problem] after which nothing else is checked.
const RuleIntegrity = "integrity"
