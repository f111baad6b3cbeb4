package catalog

// A Rule is the stable id of a check. Tools and people may rely on it; the
// wording of messages may change.
type Rule string

// The rules, from the file as a whole down to single values.
const (
	RuleEncoding      Rule = "encoding"          // the file is UTF-8 text without control characters
	RuleSyntax        Rule = "yaml-syntax"       // the file is well-formed YAML
	RuleOneDocument   Rule = "one-document"      // the file holds one YAML document, and it is not empty
	RuleAlias         Rule = "yaml-alias"        // no aliases and merge keys: a catalogue shares through types and policies
	RuleWrongKind     Rule = "wrong-kind"        // a mapping, list, text or number where one is expected
	RuleUnknownKey    Rule = "unknown-key"       // only keys that the language has
	RuleDuplicateKey  Rule = "duplicate-key"     // a key once per mapping
	RuleDuplicateName Rule = "duplicate-name"    // one type, event, policy and subscription of a name in the whole catalogue, one tag of a name in an event, one field for a key in stored JSON
	RuleInclude       Rule = "include"           // included and imported files that can be read, each of them once
	RuleImport        Rule = "import"            // imported catalogues without findings, that do not import one another
	RulePackages      Rule = "package-cycle"     // packages of a catalogue that do not import one another
	RuleMissingKey    Rule = "missing-key"       // the keys that cannot be left out
	RuleConflict      Rule = "conflicting-keys"  // not two keys that say the same thing in two ways
	RuleVersion       Rule = "version"           // a version of the catalogue language that this program reads
	RulePackage       Rule = "package-name"      // a name that Go takes for a package
	RuleBadName       Rule = "bad-name"          // names of events, subscriptions, types and fields in their alphabet
	RuleReservedField Rule = "reserved-field"    // no field with a name that is reserved beside it
	RuleReserved      Rule = "reserved-name"     // no names that generated code needs for itself
	RuleCollision     Rule = "go-name-collision" // one Go name for one thing
	RuleNoEvents      Rule = "no-events"         // at least one event, or a type for other catalogues
	RuleBadType       Rule = "bad-type"          // types in the notation of the language
	RuleUnknownType   Rule = "unknown-type"      // only types that are built in or declared
	RuleRecursiveType Rule = "recursive-type"    // no struct that needs itself to exist
	RuleEnum          Rule = "enum-value"        // enums with values, all different, that can be Go constants
	RuleNumber        Rule = "bad-number"        // plain decimal numbers, as JSON has them
	RuleBadDuration   Rule = "bad-duration"      // durations that carry a unit
	RuleOutOfRange    Rule = "out-of-range"      // numbers and durations within their limits
	RuleUnknownValue  Rule = "unknown-value"     // only words that a setting knows
	RuleReasons       Rule = "redrive-reasons"   // reasons of a redrive, each of them once
	RuleDelayOrder    Rule = "delay-order"       // no base delay above the cap that an event inherits or sets
	RuleBadGlob       Rule = "bad-glob"          // patterns that the matcher can read
	RulePolicyTie     Rule = "policy-tie"        // no two equally specific policies for one event
	RulePolicyUnused  Rule = "policy-unused"     // no policy that matches nothing, as after a typo
	RuleExample       Rule = "example"           // examples that are valid payloads, and one if none can be made up
	RuleUnion         Rule = "union"             // variants that are different structs, without a field of the discriminator's name
	RuleDefault       Rule = "default"           // defaults that are valid values, of scalar fields
	RuleConstraint    Rule = "constraint"        // constraints that fit the type of their field, and one another
	RuleHistory       Rule = "history"           // the payload of every version before the present one
	RuleAccepted      Rule = "accepted-finding"  // keys that findings of busgen breaking have, each with a reason
	RulePartition     Rule = "partition-key"     // a partition key that every event has
)
