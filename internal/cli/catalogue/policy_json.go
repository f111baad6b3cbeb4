package catalogue

import (
	"encoding/json"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/retry"
)

// The form of --json. It is documented in the help of the verb.
type policyObject struct {
	Type         string                   `json:"type"`
	Subscription string                   `json:"subscription,omitempty"`
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
			Type: s.event, Subscription: s.subscription,
			Settings: settingObjects(s.settings), Schedule: stepObjects(s.settings, s.settings.Policy()), Classes: classObjects(s.settings),
		}
	}
	text, err := json.MarshalIndent(objects, "", "  ")
	return string(text) + "\n", err
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
	waits, alone := waitsAlone(s, p), time.Duration(0)
	for i, step := range p.Schedule() {
		if i > 0 {
			alone += waits[i-1]
		}
		objects = append(objects, stepObject{
			step.Attempt, inSeconds(step.Delay), inSeconds(step.Lo), inSeconds(step.Hi), inSeconds(step.Total), inSeconds(alone),
		})
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

func inSeconds(d time.Duration) float64 { return d.Seconds() }
