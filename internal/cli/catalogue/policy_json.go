package catalogue

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/retry"
)

// The form of --json. It is documented in the help of the verb.
type policyObject struct {
	Type         string                   `json:"type"`
	Subscription string                   `json:"subscription,omitempty"`
	Group        string                   `json:"group,omitempty"`
	Settings     map[string]settingObject `json:"settings"`
	Schedule     []stepObject             `json:"schedule"`
	Classes      map[string][]stepObject  `json:"classes,omitempty"`
}

type settingObject struct {
	Value any    `json:"value"`
	From  string `json:"from"`
}

type stepObject struct {
	Attempt    int     `json:"attempt"`
	Delay      float64 `json:"delay"`
	Earliest   float64 `json:"earliest"`
	Latest     float64 `json:"latest"`
	Cumulative float64 `json:"cumulative"`
	Alone      float64 `json:"alone"`
}

func policyJSON(all []subject) (string, error) {
	objects := make([]policyObject, len(all))
	for i, s := range all {
		objects[i] = policyObject{
			Type: s.event, Subscription: s.subscription, Group: s.group,
			Settings: settingObjects(s.settings), Schedule: stepObjects(s.settings, s.settings.Policy()), Classes: classObjects(s.settings),
		}
	}
	return cli.Document(objects)
}

func settingObjects(s catalog.Settings) map[string]settingObject {
	objects := map[string]settingObject{}
	for _, setting := range s.List() {
		objects[setting.Key] = settingObject{setting.Value, origin(setting.Pos)}
	}
	return objects
}

func stepObjects(s catalog.Settings, p retry.Policy) []stepObject {
	var objects []stepObject
	for _, a := range attemptsOf(s, p) {
		objects = append(objects, stepObject{a.Attempt, a.Delay.Seconds(), a.Lo.Seconds(), a.Hi.Seconds(), a.Total.Seconds(), a.at.Seconds()})
	}
	return objects
}

func classObjects(s catalog.Settings) map[string][]stepObject {
	objects := map[string][]stepObject{}
	for _, rule := range s.Errors {
		objects[rule.Class.V] = stepObjects(s, s.PolicyFor(rule))
	}
	return objects
}
