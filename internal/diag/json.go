package diag

// The objects of the format JSON. The help of the verbs and docs/tools.md document them.
type (
	findingsObject struct {
		Findings []findingObject `json:"findings"`
	}
	findingObject struct {
		placeObject
		Severity  string          `json:"severity"`
		Direction string          `json:"direction,omitempty"`
		Rule      string          `json:"rule"`
		Key       string          `json:"key,omitempty"`
		Message   string          `json:"message"`
		Hint      string          `json:"hint,omitempty"`
		Related   []relatedObject `json:"related,omitempty"`
	}
	relatedObject struct {
		placeObject
		Message string `json:"message"`
	}
	placeObject struct {
		File      string `json:"file"`
		Line      int    `json:"line"`
		Column    int    `json:"column"`
		EndColumn int    `json:"end_column"` // of the first character behind the place
	}
)

func objectOf(fs Findings) findingsObject {
	all := findingsObject{Findings: []findingObject{}}
	for _, f := range fs {
		o := findingObject{
			placeObject: f.Place.object(), Severity: f.Severity.String(), Direction: f.Direction.String(),
			Rule: f.Rule.ID, Key: f.Key, Message: f.Message, Hint: f.Hint,
		}
		for _, related := range f.Related {
			o.Related = append(o.Related, relatedObject{related.object(), related.Message})
		}
		all.Findings = append(all.Findings, o)
	}
	return all
}

func (p Place) object() placeObject {
	return placeObject{p.Pos.File, p.Pos.Line, p.Pos.Column, p.Pos.Column + max(p.Length, 1)}
}
