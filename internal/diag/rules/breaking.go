package rules

import "github.com/busgen/busgen/internal/diag"

// The rules of busgen breaking: events, versions, fields, types, delivery, subscriptions, schedules,
// and the events stored in a file. The severity is the worst that the rule reports.
var (
	EventRemoved         = breaking(diag.Error, "event-removed", "Nobody can decode stored events of a type that is not in the catalogue: they stay pending or become dead letters.")
	EventAdded           = breaking(diag.Note, "event-added", "Old programs that subscribe to a pattern make dead letters of events that they do not know.")
	AliasRemoved         = breaking(diag.Warning, "alias-removed", "Without the alias, the program does not find events stored under the former name, nor its subscriptions.")
	AliasMoved           = breaking(diag.Error, "alias-moved", "Events stored under the former name are delivered as events of another type.")
	VersionRaised        = breaking(diag.Error, "version-raised", "Old programs hold events with a version that they do not know, and after hold_unknown make dead letters of them.")
	VersionLowered       = breaking(diag.Error, "version-lowered", "Stored events with a version that the new program does not know are held, and after hold_unknown become dead letters.")
	HistoryDropped       = breaking(diag.Warning, "history-dropped", "Stored events of a dropped version become dead letters, if any are left.")
	HistoryEdited        = breaking(diag.Warning, "history-edited", "History describes what was stored. A field that it omits is lost before an upcast sees it.")
	FieldAdded           = breaking(diag.Warning, "field-added", "Stored events lack a new field, so handlers find its zero value, although the field is required.")
	FieldRemoved         = breaking(diag.Warning, "field-removed", "New events lack a field that old programs rely on.")
	FieldRenamed         = breaking(diag.Warning, "field-renamed", "The name of a field is its key in stored JSON. If one field goes and another comes, say whether it was renamed (was) or removed (reserved).")
	FieldRequired        = breaking(diag.Warning, "field-required", "Stored events may lack a field that was optional, or have null there, so handlers find its zero value.")
	FieldOptional        = breaking(diag.Warning, "field-optional", "New events may lack a field that old programs rely on, or have null there.")
	WasRemoved           = breaking(diag.Warning, "was-removed", "Events stored before a rename have the field under its former name only.")
	WasMoved             = breaking(diag.Error, "was-moved", "What stored events have under the former name is read as another field.")
	ReservedRemoved      = breaking(diag.Warning, "reserved-removed", "Stored events may still have the value of a removed field, and another field of that name would read it.")
	TypeChanged          = breaking(diag.Error, "type-changed", "JSON of another type does not decode, or decodes to another value: a string is not a number, and a float64 rounds large integers.")
	CustomChanged        = breaking(diag.Warning, "custom-type-changed", "Only its own code knows what a custom Go type reads.")
	EnumValueRemoved     = breaking(diag.Warning, "enum-value-removed", "Stored events may have a value that a switch over the enum no longer expects.")
	EnumValueAdded       = breaking(diag.Warning, "enum-value-added", "New events may have a value that a switch over the enum in old programs does not expect.")
	EnumRenumbered       = breaking(diag.Error, "enum-renumbered", "The number is stored. With another number, stored events have another value.")
	VariantRemoved       = breaking(diag.Error, "variant-removed", "A union does not decode a variant that it does not have.")
	VariantAdded         = breaking(diag.Error, "variant-added", "Old programs cannot decode a variant that they do not know.")
	DiscriminatorChanged = breaking(diag.Error, "discriminator-changed", "The value under the discriminator says which variant a union is.")
	ConstraintTightened  = breaking(diag.Note, "constraint-tightened", "Stored events are still delivered, but cannot be corrected or imported unless they keep the constraint.")
	DefaultChanged       = breaking(diag.Warning, "default-changed", "Stored events that lack the field get another value, or the zero value.")
	PartitionChanged     = breaking(diag.Note, "partition-changed", "Pending events are ordered by the new key from the first start on.")
	DedupeChanged        = breaking(diag.Note, "dedupe-changed", "The keys that a file remembers are those of the former field: an event that is published again may be stored again.")
	AwaitChanged         = breaking(diag.Warning, "await-changed", "Flows that wait for the event by the former key never wake: they go on when their time is over.")
	ExpiresSooner        = breaking(diag.Note, "expires-sooner", "Pending events that are older become dead letters at the first start.")
	SubscriptionRemoved  = breaking(diag.Warning, "subscription-removed", "A file does not forget a subscription: its deliveries stay pending forever, unless the program still handles them.")
	SubscriptionMoved    = breaking(diag.Error, "subscription-moved", "Pending events of the former type become dead letters of the subscription.")
	SubscriptionNarrowed = breaking(diag.Warning, "subscription-narrowed", "The subscription does not get these events any more. Pending ones become dead letters if its handler takes the payloads of a namespace only.")
	SubscriptionWidened  = breaking(diag.Note, "subscription-widened", "The subscription also gets these events, from the oldest one on that it has not settled.")
	SubscriptionGrouped  = breaking(diag.Warning, "subscription-regrouped", "Pending events stay with the former group, or with the subscription's own name: this subscription does not get them.")
	ScheduleRemoved      = breaking(diag.Note, "schedule-removed", "The event is not published any more, and times that were missed are forgotten. A renamed schedule begins anew.")
	ScheduleMoved        = breaking(diag.Note, "schedule-moved", "Times that were missed are published as the other event.")
	CloudEventsChanged   = breaking(diag.Warning, "cloudevents-changed", "Others know the events by their source, types and schemas outside of the program.")
	HeaderRequired       = breaking(diag.Warning, "header-required", "Stored events may lack a header that was not required, and who publishes without it is refused.")
	HeaderOptional       = breaking(diag.Warning, "header-optional", "New events may lack a header that old programs rely on.")
	HeaderRemoved        = breaking(diag.Warning, "header-removed", "New events lack a header that old programs read.")
	HeaderChanged        = breaking(diag.Error, "header-changed", "Stored events have a text of the former type in their metadata, which handlers cannot read as another type.")
	MergedTwice          = breaking(diag.Error, "merged-twice", "Two merged branches brought the same version of an event, or the same type, with different fields: rows may have those of either. Only `generate` and `check` find it, in git.")
	StoredRows           = breaking(diag.Error, "stored-rows", "The file has open events or dead letters that code of this catalogue cannot decode (--db).")
	StoredFields         = breaking(diag.Warning, "stored-fields", "The file has open events or dead letters without a field that this catalogue requires, so handlers find its zero value (--db).")
)

func breaking(severity diag.Severity, id, doc string) *diag.Rule {
	return add(diag.Breaking, severity, id, doc)
}

// Changes lists the ids of the rules about changes, whose findings a catalogue can accept.
func Changes() []string {
	var ids []string
	for _, r := range Of(diag.Breaking) {
		if r != StoredRows && r != StoredFields {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
