// Package tree reads JSON and YAML as one kind of [Node], each with its place in the document.
package tree

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/diag"
)

// A Kind is a type of JSON.
type Kind int

const (
	Object Kind = iota + 1
	List
	Text
	Number
	Boolean
	Null
)

// A Node is a value of the document, with its place. YAML aliases make one node of what they stand for, so that a
// document never grows by being read.
type Node struct {
	Kind    Kind
	Text    string   // of a text; of a number and a truth value, as JSON writes it
	Members []Member // of an object, in order, each name once
	Items   []*Node  // of a list
	Place   diag.Place

	// Of schemas that were put together of others:
	Sometimes []*Node // parts that hold for some values only
	Either    bool    // it is what several alternatives say of one property

	// Unsure says that it is written as a number that readers of YAML take for different values. It is its text then.
	Unsure bool
}

// A Member is a named value of an object.
type Member struct {
	Name  string
	At    diag.Place
	Value *Node
}

// Get returns the value of a member; nil if there is none, or n is no object.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Properties returns the members; there are none of nil.
func (n *Node) Properties() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// Elements returns the items; there are none of nil.
func (n *Node) Elements() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// At is the place of a member's name; that of n if it has no such member.
func (n *Node) At(name string) diag.Place {
	for _, m := range n.Members {
		if m.Name == name {
			return m.At
		}
	}
	return n.Place
}

// Str is the text of a member; empty if it has no text.
func (n *Node) Str(name string) string {
	if v := n.Get(name); v.Is(Text) {
		return v.Text
	}
	return ""
}

func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

func (n *Node) IsTrue() bool  { return n.Is(Boolean) && n.Text == "true" }
func (n *Node) IsFalse() bool { return n.Is(Boolean) && n.Text == "false" }

// Lists tells whether a text is an item of a list.
func (n *Node) Lists(word string) bool {
	return slices.ContainsFunc(n.Elements(), func(item *Node) bool { return item.Is(Text) && item.Text == word })
}

func NewText(at diag.Place, value string) *Node { return &Node{Kind: Text, Text: value, Place: at} }

func NewBoolean(at diag.Place, value bool) *Node {
	return &Node{Kind: Boolean, Text: strconv.FormatBool(value), Place: at}
}

func NewMember(name string, at diag.Place, value *Node) Member { return Member{name, at, value} }

func NewList(at diag.Place, items ...*Node) *Node { return &Node{Kind: List, Items: items, Place: at} }

func NewObject(at diag.Place) *Node { return &Node{Kind: Object, Place: at} }

// Add adds a member, whose name is at a place, and returns n.
func (n *Node) Add(name string, at diag.Place, value *Node) *Node {
	n.Members = append(n.Members, Member{name, at, value})
	return n
}

// Set gives a member another value; nothing if there is no such member.
func (n *Node) Set(name string, value *Node) {
	for i, m := range n.Members {
		if m.Name == name {
			n.Members[i].Value = value
		}
	}
}

// Without is a copy of an object without some members.
func (n *Node) Without(names ...string) *Node {
	rest := *n
	rest.Members = slices.DeleteFunc(slices.Clone(n.Members), func(m Member) bool {
		return slices.Contains(names, m.Name)
	})
	return &rest
}

// WithoutText is a copy of a list without a text.
func (n *Node) WithoutText(text string) *Node {
	rest := *n
	rest.Items = slices.DeleteFunc(slices.Clone(n.Items), func(item *Node) bool { return item.Text == text })
	return &rest
}

// Rational is the value of a number, unless that would take very much memory.
func (n *Node) Rational() (*big.Rat, bool) {
	if !n.Is(Number) || len(n.Text) > 400 {
		return nil, false
	}
	if at := strings.IndexAny(n.Text, "eE"); at >= 0 {
		if exponent, err := strconv.Atoi(n.Text[at+1:]); err != nil || exponent > 400 || exponent < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(n.Text)
}

// IsWhole tells an integer that has no point and no exponent.
func (n *Node) IsWhole() bool {
	return n.Is(Number) && !n.Unsure && !strings.ContainsAny(n.Text, ".eE")
}

// Same compares two values, unless they are very large: aliases of YAML can make them so.
func Same(a, b *Node) bool {
	left := 10_000
	var equal func(a, b *Node) bool
	equal = func(a, b *Node) bool {
		left--
		return left > 0 && (a == b || a.Kind == b.Kind && a.Text == b.Text &&
			slices.EqualFunc(a.Items, b.Items, equal) &&
			slices.EqualFunc(a.Members, b.Members, func(x, y Member) bool {
				return x.Name == y.Name && equal(x.Value, y.Value)
			}))
	}
	return equal(a, b)
}
