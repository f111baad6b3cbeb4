package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A yamlReader reads YAML.
type yamlReader struct {
	places
	report reporter
	nodes  map[*yaml.Node]*Node // so far

	mergedMembers int // that << has added
}

// repeated is the finding about a name that an object has twice.
const repeated = "%q is in the same object twice; the first one counts"

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (r *yamlReader) document(source []byte) (*Node, error) {
	r.lines = strings.Split(diag.Normalize(source), "\n")
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	var doc yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, &Error{r.place(1, 1, 1), "it is empty"}
	}
	if err == nil && !errors.Is(decoder.Decode(new(yaml.Node)), io.EOF) {
		return nil, &Error{r.place(1, 1, 1), "it has more than one YAML document"}
	}
	if err != nil {
		match := yamlError.FindStringSubmatch(err.Error())
		line := 1
		if len(match) > 1 {
			line, _ = strconv.Atoi(match[1])
		}
		return nil, &Error{r.place(line, 1, 1), "it is neither JSON nor YAML: " + yamlError.ReplaceAllString(err.Error(), "")}
	}
	return r.value(doc.Content[0], 0)
}

func (r *yamlReader) value(y *yaml.Node, depth int) (*Node, error) {
	if n := r.nodes[y]; n != nil {
		return n, nil // an alias
	}
	n := &Node{Place: r.place(y.Line, y.Column, utf8.RuneCountInString(y.Value))}
	if depth > maxDepth {
		return nil, &Error{n.Place, fmt.Sprintf("values are nested more than %d deep", maxDepth)}
	}
	if y.Kind != yaml.AliasNode {
		r.nodes[y] = n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.value(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			value, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, value)
		}
	case yaml.MappingNode:
		return n, r.membersOf(n, y, depth)
	default:
		if tag := y.ShortTag(); (tag == "!!int" || tag == "!!float") && ambiguous.MatchString(y.Value) {
			r.report(n.Place, rules.ImportNumber,
				"readers of YAML take the number %s for different values; it is read as the text %q", y.Value, y.Value).
				Hint = "write it in decimal digits, or in quotes"
			n.Kind, n.Text, n.Unsure = Text, y.Value, true
			return n, nil
		}
		scalar(n, y)
	}
	return n, nil
}

// ambiguous is a number that is octal, or binary, or has no meaning, depending on the version
// of YAML: 010, 0b1, 1_000.
var ambiguous = regexp.MustCompile(`^[-+]?0[0-9b]|_`)

func (r *yamlReader) membersOf(n *Node, y *yaml.Node, depth int) error {
	n.Kind = Object
	seen := map[string]bool{}
	var merge *Member // the key <<, and how many members come before it
	before := 0
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		at := r.place(key.Line, key.Column, utf8.RuneCountInString(key.Value))
		value, err := r.value(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		name := key.Value
		merges := key.Tag == mergeTag // in quotes it is a name as any other
		if merges {
			name = mergeTag
		}
		if seen[name] {
			r.report(at, rules.ImportSyntax, repeated, key.Value)
			continue
		}
		seen[name] = true
		if m := (NewMember(key.Value, at, value)); merges {
			merge, before = &m, len(n.Members)
		} else {
			n.Add(m.Name, m.At, m.Value)
		}
	}
	if merge != nil {
		n.Members = slices.Insert(n.Members, before, r.merged(n, merge)...)
	}
	return nil
}

// mergeTag is the tag of the key <<.
const mergeTag = "!!merge"

// merged returns the members that the key << gives to n: those of the objects that it names, but not what n has itself,
// and of several with one name that of the object that is named first.
func (r *yamlReader) merged(n *Node, merge *Member) (merged []Member) {
	taken := map[string]bool{}
	for _, m := range n.Members {
		taken[m.Name] = true
	}
	parts := []*Node{merge.Value}
	if merge.Value.Is(List) {
		parts = merge.Value.Items
	}
	for _, part := range parts {
		if !part.Is(Object) {
			r.report(merge.At, rules.ImportSyntax, "<< names something that is not an object; it is left out")
		}
		for _, other := range part.Members {
			if !taken[other.Name] {
				taken[other.Name] = true
				merged = append(merged, other)
			}
		}
	}
	if r.mergedMembers += len(merged); r.mergedMembers > maxMerged {
		r.report(merge.At, rules.ImportSyntax,
			"the objects that << names have more than %d members in all; they are left out", maxMerged)
		return nil
	}
	return merged
}

// maxMerged bounds how large a document can grow by <<.
const maxMerged = 100_000

// scalar gives n the value of a YAML scalar, as JSON has it.
func scalar(n *Node, y *yaml.Node) {
	n.Kind, n.Text = Text, y.Value
	var f float64
	switch tag := y.ShortTag(); {
	case tag == "!!null":
		n.Kind, n.Text = Null, ""
	case tag == "!!bool":
		var b bool
		if y.Decode(&b) == nil {
			n.Kind, n.Text = Boolean, strconv.FormatBool(b)
		}
	case tag != "!!int" && tag != "!!float":
	case json.Valid([]byte(y.Value)):
		n.Kind = Number
	case tag == "!!int":
		if i, err := strconv.ParseInt(strings.ReplaceAll(y.Value, "_", ""), 0, 64); err == nil {
			n.Kind, n.Text = Number, strconv.FormatInt(i, 10)
		}
	case y.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f):
		n.Kind, n.Text = Number, strconv.FormatFloat(f, 'g', -1, 64)
	}
}
