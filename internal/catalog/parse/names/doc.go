// Package names reads names: those of Go, on the wire, in JSON, of subscriptions, and former ones. [Names] owns the
// initialisms and the JSON names of one catalogue, and finds Go names that two things would share.
package names
