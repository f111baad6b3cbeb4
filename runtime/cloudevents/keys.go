package cloudevents

import (
	"encoding/json"
)

// keyField returns the field of a payload that is its partition key, by the schema of its type;
// empty for none.
func keyField(schema string) string {
	var s struct {
		PartitionBy string `json:"partition_by"`
	}
	json.Unmarshal([]byte(schema), &s) // code without a schema has no field
	return s.PartitionBy
}

// keyIn returns the partition key of a payload: the text of the field.
func keyIn(field string, payload []byte) string {
	if field == "" {
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return ""
	}
	var text string
	switch raw := fields[field]; {
	case len(raw) == 0, raw[0] == '{', raw[0] == '[', raw[0] == 'n':
	case raw[0] == '"':
		json.Unmarshal(raw, &text)
	default:
		text = string(raw)
	}
	return text
}
