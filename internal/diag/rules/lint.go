package rules

import "github.com/busgen/busgen/internal/diag"

// The rules of busgen lint: documentation, names, payloads, schedules, settings.
var (
	EventDoc             = lint(diag.Warning, "event-doc", "The name of an event does not say when it happens, and whoever handles it must know.")
	TypeDoc              = lint(diag.Note, "type-doc", "A type is used in many places, and readers of each need to know what it means.")
	FieldDoc             = lint(diag.Note, "field-doc", "A name does not say in what unit a field is, who sets it, and when it is absent.")
	EventOwner           = lint(diag.Off, "event-owner", "In a catalogue of several teams, somebody must answer for each event.")
	EventExample         = lint(diag.Off, "event-example", "An example says more than a list of types; tests, pages and exports use it.")
	DeprecatedSubscribed = lint(diag.Warning, "deprecated-subscribed", "A deprecated event should have no subscriptions, and no schedule should publish it.")
	DeprecatedType       = lint(diag.Warning, "deprecated-type", "A field that is not deprecated should not have a deprecated type.")
	PastTense            = lint(diag.Note, "past-tense", "An event is a fact. A name in the imperative reads like a command that somebody can refuse.")
	GenericName          = lint(diag.Note, "generic-name", "A generic name says nothing: no subscription and no policy can pick one kind of the events.")
	SecretField          = lint(diag.Warning, "secret-field", "Payloads are stored, shown by tools and quoted in dead letters in clear text.")
	FloatMoney           = lint(diag.Warning, "float-money", "Floating point cannot represent cents: a sum of prices is off by a cent sooner or later.")
	UnusedType           = lint(diag.Warning, "unused-type", "No event has a field of the type: it is left over, or an event forgot to use it.")
	UnusedLimit          = lint(diag.Warning, "unused-limit", "No settings name the limit: it is left over, or an event forgot to use it. Except one that programs take by hand.")
	SampleOfCustom       = lint(diag.Warning, "sample-of-custom", "Only its own code knows what a custom Go type accepts. Without an example, Sample… may panic on a made-up value.")
	PartitionGap         = lint(diag.Note, "partition-gap", "partition_by keeps the events of one thing in order. An event without it can overtake the others.")
	DedupeFewValues      = lint(diag.Warning, "dedupe-few-values", "A dedupe key identifies one event. With a bool or an enum, all events but a few are duplicates or refused.")
	SensitiveKey         = lint(diag.Warning, "sensitive-key", "Keys are stored beside the payload and shown in clear text: what hides a field does not hide its value there.")
	FlowCorrelation      = lint(diag.Note, "flow-correlation", "The events of one flow need a field in common. Without it nobody can follow the flow from start to end.")
	ScheduleUnhandled    = lint(diag.Note, "schedule-unhandled", "If no program subscribes to an event that a schedule publishes, nothing is done, and nobody notices. A declared subscription makes the event wait for its handler.")
	SlowAfterUnreached   = lint(diag.Warning, "slow-after-unreached", "An attempt ends at its timeout, so a slow_after that is not shorter is never logged.")
	SlowEventUnreached   = lint(diag.Warning, "slow-event-unreached", "An event is not tried after its expiry, so a slow_event_after that is not shorter than expires_after is never logged.")
	TimeoutBeyondExpiry  = lint(diag.Warning, "timeout-beyond-expiry", "If an attempt may take longer than the event lives, there is no time for another one.")
	AttemptsBeyondExpiry = lint(diag.Warning, "attempts-beyond-expiry", "The waits between attempts take longer than the event lives, so the last attempts are never made.")
	BatchBeyondExpiry    = lint(diag.Warning, "batch-beyond-expiry", "An event that waits for others to fill its batch must not expire meanwhile.")
	BatchOneAttempt      = lint(diag.Note, "batch-one-attempt", "With one attempt, an error or a panic of a batch handler makes dead letters of all events of the batch.")
	NeverRetried         = lint(diag.Note, "never-retried", "With one attempt and no redrive, a short outage makes a dead letter that a person has to handle.")
	NoJitter             = lint(diag.Note, "no-jitter", "Without jitter, deliveries that failed together are tried again together, and fail together again.")
	RetryDelays          = lint(diag.Note, "retry-delays", "First waits of 100ms to 5s and longest waits of 10s to 10m fit most failures. Shorter ones give no rest, longer ones waste time.")
	StrictWithoutKey     = lint(diag.Note, "strict-without-key", "In a strict order an event without a partition key that fails holds back all later ones of its subscription.")
	AllCritical          = lint(diag.Note, "all-critical", "If every event is critical, none overtakes another, and every dead letter is an alert.")
	OneBudget            = lint(diag.Note, "one-budget", "A person who waits needs a quick failure, and expensive work needs patience: one retry policy does not fit all events.")
)

func lint(severity diag.Severity, id, doc string) *diag.Rule {
	return add(diag.Lint, severity, id, doc)
}
